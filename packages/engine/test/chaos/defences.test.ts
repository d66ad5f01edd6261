import { afterAll, describe, expect, test } from 'vitest'
import { setup, until, type World } from '../integration/world.ts'
import { type BlackHole, startBlackHole } from './black-hole.ts'
import type { DefendedWorkerSettings } from './defended-worker.ts'
import { LEDGER, ledgerAgent } from './ledger-agent.ts'
import { startDefendedWorker, type WorkerProcess } from './processes.ts'

/**
 * Each line of defence alone, against each way to lose a worker, with a lease of 1 s. What one does not cover has to be
 * red here: a matrix that is green everywhere has switched nothing off.
 */

const LEASE_MS = 1_000
const TASKS = 3
/** Far beyond what a defence needs (the lease, two rounds), so that "not covered" does not mean "not yet". */
const UNCOVERED_AFTER_MS = 4 * LEASE_MS
const COVERED_WITHIN_MS = 15_000

type Defence = DefendedWorkerSettings['defence']
interface Struck {
  readonly victim: WorkerProcess
  readonly network: BlackHole
}

const LOSSES: {
  readonly [Loss in string]: { readonly strike: (at: Struck) => void; readonly expected: Record<Defence, boolean> }
} = {
  'kill -9': {
    strike: ({ victim }) => victim.kill('SIGKILL'),
    expected: { sweep: true, drain: false },
  },
  SIGSTOP: {
    strike: ({ victim }) => victim.kill('SIGSTOP'),
    expected: { sweep: true, drain: false },
  },
  // PostgreSQL is told nothing: its sessions stay open, as after a power cut.
  'node loss': {
    strike({ victim, network }) {
      network.swallow()
      victim.kill('SIGKILL')
    },
    expected: { sweep: true, drain: false },
  },
  SIGTERM: {
    strike: ({ victim }) => victim.kill('SIGTERM'),
    expected: { sweep: true, drain: true },
  },
}
const DEFENCES: readonly Defence[] = ['sweep', 'drain']

const matrix = new Map<string, string>()

afterAll(() => {
  const rows = Object.keys(LOSSES).map((loss) => [loss, ...DEFENCES.map((by) => matrix.get(`${loss} ${by}`) ?? '-')])
  const lines = [['', 'sweep alone', 'drain alone'], ...rows].map(([loss = '', sweep = '', drain = '']) =>
    [loss.padEnd(10), sweep.padEnd(62), drain].join('  '),
  )
  console.log(['', ...lines].join('\n'))
})

interface Attempt {
  readonly status: string
  readonly worker: string | null
  readonly crashes: number
  readonly handovers: number
}

function tasksOf(world: World): Promise<Attempt[]> {
  return world.query<Attempt>(
    `select status, worker_id as worker, crash_count as crashes, handover_count as handovers from foothold.tasks order by id`,
  )
}

describe.each(Object.entries(LOSSES))('%s', (loss, { strike, expected }) => {
  test.for(DEFENCES)('with the %s alone', { timeout: 60_000 }, async (defence) => {
    const world = await setup()
    await world.query(LEDGER)
    const network = await startBlackHole(world.url)
    const settings = { defence, ledgerUrl: world.url, heartbeatMs: 200, leaseMs: LEASE_MS }
    // The model does not answer before the worker is struck, however busy the machine is.
    const victim = startDefendedWorker({ ...settings, url: network.url, pauseMs: 60_000 })
    await victim.tells(({ message }) => message === 'worker started')
    const asked = ledgerAgent(world.url, { receiver: 'keys' })
    const handles = await Promise.all(Array.from({ length: TASKS }, () => world.foothold.submit(asked, null)))
    const areAsked = (): Promise<Record<string, unknown>[]> =>
      world.query(`select 1 from ledger where what = 'generate'`)
    await until('the model is asked for all', async () => (await areAsked()).length === TASKS)
    const neighbour = startDefendedWorker({ ...settings, url: world.url, pauseMs: 0 })
    await neighbour.tells(({ message }) => message === 'worker started')

    const struckAt = Date.now()
    strike({ victim, network })

    const isTaken = async (): Promise<boolean> =>
      (await tasksOf(world)).every(
        ({ worker, status }) => status === 'completed' || worker?.includes(`:${neighbour.pid}:`),
      )
    if (!expected[defence]) {
      await until('the time for a recovery is over', async () => {
        expect(await tasksOf(world)).toEqual(
          Array.from({ length: TASKS }, () =>
            expect.objectContaining({ status: 'processing', worker: expect.stringContaining(`:${victim.pid}:`) }),
          ),
        )
        return Date.now() - struckAt > UNCOVERED_AFTER_MS
      })
      matrix.set(`${loss} ${defence}`, `not covered: still held after ${UNCOVERED_AFTER_MS} ms`)
      // It is the other defence that was missing: with it nothing is lost.
      await world.worker([ledgerAgent(world.url, { receiver: 'keys' })], { heartbeatMs: 200 })
    } else {
      await until('the neighbour has taken them', isTaken, COVERED_WITHIN_MS)
      const tookMs = Date.now() - struckAt
      const after = await tasksOf(world)
      const sum = (count: 'crashes' | 'handovers'): number => after.reduce((all, task) => all + task[count], 0)
      matrix.set(
        `${loss} ${defence}`,
        `covered: elsewhere after ${tookMs} ms, ${sum('crashes')} crashes, ${sum('handovers')} handovers`,
      )
      expect([sum('crashes'), sum('handovers')]).toEqual(defence === 'sweep' ? [TASKS, 0] : [0, TASKS])
      // A lease is what the sweep waits for, and what the drain spares.
      if (defence === 'sweep') expect(tookMs).toBeGreaterThan(LEASE_MS / 2)
    }

    await Promise.all(handles.map((handle) => handle.result({ timeoutMs: 30_000 })))
    if (loss === 'SIGSTOP') {
      // Whoever was frozen comes back to nothing, and leaves it as it is.
      victim.kill('SIGCONT')
      await victim.tells(({ message }) => message === 'worker was declared lost; it begins anew')
    }
    expect(
      await world.query(
        `select count(*)::int as deals, count(distinct task)::int as tasks, (select count(*)::int from replies) as replies
         from ledger where what = 'deal'`,
      ),
    ).toEqual([{ deals: TASKS, tasks: TASKS, replies: TASKS }])
  })
})
