import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { TaskId } from 'foothold'
import { beforeAll, expect, test } from 'vitest'
import { type BuiltWorker, startBuiltWorker } from './built-worker.ts'
import { draftsByTask } from './traffic.ts'
import { openWorld, until, type World } from './world.ts'

/**
 * A release as it is really done, under 50 live tasks of the support agent, whose answers take seconds: by the worker's
 * built code and its own command, as an image runs it. From source a process needs half a second longer to load.
 */

const LIVE = 50
/** Times are printed always and held only on a machine with nothing else to do: `npm run bench:releases`. */
const IS_TIMED = process.env['FOOTHOLD_TIMED'] === '1'
const RELEASE_MS = 15_000
/** Of a process that has a core to itself: so many more start at once as there are too few cores, so much longer it takes. */
const FIRST_CLAIM_MS = 1_000
/** Between two pieces of an answer of a dozen pieces. */
const CHUNK_DELAY_MS = 500
const DONE_MS = 60_000
const ROLLING_DEPLOYS = 20

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

beforeAll(() => {
  execFileSync('npx', ['tsc', '-b'], { cwd: ROOT, stdio: 'inherit' })
}, 300_000)

interface Fleet {
  readonly world: World
  readonly ids: readonly TaskId[]
  readonly old: readonly BuiltWorker[]
  /** A worker of the new release. */
  replace(release?: string): Promise<BuiltWorker>
}

interface Release {
  readonly tookMs: number
  readonly fresh: readonly BuiltWorker[]
  readonly startedTogether: number
}

/** Workers of the old release, all their slots taken by tasks that are being answered. */
async function busyFleet(count: number, onTestFinished: (act: () => Promise<void>) => void): Promise<Fleet> {
  const world = await openWorld({ chunkDelayMs: CHUNK_DELAY_MS })
  const workers: BuiltWorker[] = []
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker.end()))
    await world.close()
  })
  const start = async (release: string): Promise<BuiltWorker> => {
    const settings = { ...world.environment, RELEASE: release, CONCURRENCY: String(LIVE / count) }
    const worker = await startBuiltWorker(ROOT, settings)
    workers.push(worker)
    return worker
  }
  const old = await Promise.all(Array.from({ length: count }, () => start('выпуск-1')))
  const ids = await submitMany(world, LIVE, 0)
  await until('all fifty are being answered', async () => {
    const [row] = await world.query<{ n: number }>(
      `select count(*)::int as n from foothold.tasks t where status = 'processing' and exists
         (select 1 from foothold.agent_steps s where s.task_id = t.id and s.status = 'completed')`,
    )
    return row?.n === LIVE
  })
  return { world, ids, old, replace: (release = 'выпуск-2') => start(release) }
}

/** In one transaction; the orders are numbered from `first` on. */
function submitMany(world: World, count: number, first: number): Promise<TaskId[]> {
  return world.inTransaction(async (sql) => {
    const submitted: TaskId[] = []
    for (let n = first; n < first + count; n += 1) {
      const input = { client: { id: `клиент-${n}` }, text: `Где мой заказ ${6_000 + n}?` }
      submitted.push((await world.foothold.submit('support', input, { transaction: sql })).id)
    }
    return submitted
  })
}

/** What was cut, by whom it was claimed again, and that the outside world saw each task once. */
async function expectNothingLost({ world, ids }: Fleet, release: Release, what: string): Promise<void> {
  const { tookMs, fresh, startedTogether } = release
  await Promise.all(ids.map((id) => world.foothold.handle(id).result({ timeoutMs: DONE_MS })))
  const tasks = await world.query<{ status: string; handovers: number; crashes: number; claims: number }>(
    `select status, handover_count as handovers, crashes_total as crashes, attempt as claims from foothold.tasks where parent_id is null`,
  )
  const firstClaims = await Promise.all(fresh.map((worker) => firstClaimMs(world, worker)))
  const claimed = firstClaims.filter((ms) => ms !== null).toSorted((a, b) => a - b)
  const cut = tasks.filter(({ handovers }) => handovers > 0)
  console.log(
    `${what}: done in ${tookMs} ms; ${cut.length} of ${LIVE} tasks cut, ${Math.max(...tasks.map(({ handovers }) => handovers))} times at most; ` +
      `start to first claim ${claimed.join(', ')} ms`,
  )

  expect(tasks.filter(({ status, crashes }) => status !== 'completed' || crashes > 0)).toEqual([])
  expect(tasks).toHaveLength(LIVE)
  expect(cut.length).toBeGreaterThan(0)
  expect(tasks.filter(({ handovers }) => handovers > 1)).toEqual([])
  expect(await doubledOrMissing(world, ids)).toEqual([])
  expect(claimed.length).toBeGreaterThan(0)
  if (!IS_TIMED) return
  expect(tookMs).toBeLessThan(RELEASE_MS)
  // Of so few starts the 99th percentile is the slowest one.
  expect(Math.max(...claimed)).toBeLessThan(FIRST_CLAIM_MS * Math.max(1, startedTogether / availableParallelism()))
}

/** From the spawn of its process, or from when there was something to claim; null: nothing was left for it. */
async function firstClaimMs({ query }: World, { pid, spawnedAtMs }: BuiltWorker): Promise<number | null> {
  const [row] = await query<{ at: Date; pendingAt: Date }>(
    `select c.at, (select max(p.at) from public.transitions p where p.task_id = c.task_id and p."to" = 'pending' and p.n < c.n) as "pendingAt"
     from public.transitions c where c."to" = 'processing' and c.worker like '%:' || $1 || ':%' order by c.n limit 1`,
    [pid],
  )
  return row === undefined ? null : row.at.getTime() - Math.max(spawnedAtMs, row.pendingAt.getTime())
}

/** By the ledgers of those who were called: a ticket, a message and a stored reply for each accepted id, and no other. */
async function doubledOrMissing({ simulators, query }: World, ids: readonly TaskId[]): Promise<unknown[]> {
  const [crm, telegram] = await Promise.all([simulators.crm.control.ledger(), simulators.telegram.control.ledger()])
  const effects = await query<{ id: TaskId; key: string }>(
    `select task_id as id, idempotency_key as key from foothold.agent_steps where key = 'tool_call:ticket'`,
  )
  const keys = new Map(effects.map(({ id, key }) => [id, key]))
  const replies = new Map(
    (
      await query<{ id: TaskId; n: number }>('select task_id as id, count(*)::int as n from support.replies group by 1')
    ).map(({ id, n }) => [id, n]),
  )
  const tickets = crm.committed.filter(({ kind }) => kind === 'crm.item')
  const messages = telegram.committed.map((entry) => JSON.stringify(entry))
  const counts = ids.map((id) => ({
    id,
    tickets: tickets.filter(({ key }) => key === keys.get(id)).length,
    messages: messages.filter((text) => text.includes(`#t_${id.replaceAll('-', '').slice(-8)}`)).length,
    replies: replies.get(id) ?? 0,
  }))
  const wrong = counts.filter((one) => one.tickets !== 1 || one.messages !== 1 || one.replies !== 1)
  return tickets.length === ids.length ? wrong : [...wrong, { tickets: tickets.length }]
}

/** Everybody who was told to stop has gone in order, and what they handed over is claimed again. */
async function settled({ world, old }: Fleet, startedAtMs: number): Promise<number> {
  expect(await Promise.all(old.map(({ exited }) => exited))).toEqual(old.map(() => 0))
  await until('what was handed over is claimed again', async () => {
    const waiting = await world.query(
      `select 1 from foothold.tasks where status = 'pending' and last_reason = 'graceful_shutdown'`,
    )
    return waiting.length === 0
  })
  return Date.now() - startedAtMs
}

test('one worker without a neighbour, stopped and started anew: nothing is lost or doubled, each task is cut at most once', {
  timeout: 180_000,
}, async ({ onTestFinished }) => {
  const fleet = await busyFleet(1, onTestFinished)

  const startedAtMs = Date.now()
  for (const worker of fleet.old) {
    worker.stop()
    await worker.exited
  }
  const fresh = [await fleet.replace()]
  const tookMs = await settled(fleet, startedAtMs)

  await expectNothingLost(fleet, { tookMs, fresh, startedTogether: 1 }, 'one worker, restarted')
})

test('five workers replaced all at once: the same', { timeout: 180_000 }, async ({ onTestFinished }) => {
  const fleet = await busyFleet(5, onTestFinished)

  const startedAtMs = Date.now()
  for (const worker of fleet.old) worker.stop()
  const fresh = await Promise.all(fleet.old.map(({ exited }) => exited.then(() => fleet.replace())))
  const tookMs = await settled(fleet, startedAtMs)

  await expectNothingLost(fleet, { tookMs, fresh, startedTogether: 5 }, 'five at once')
})

test('five workers replaced in turn, each stopped when the next new one is ready: the same', {
  timeout: 180_000,
}, async ({ onTestFinished }) => {
  const fleet = await busyFleet(5, onTestFinished)

  const startedAtMs = Date.now()
  const fresh: BuiltWorker[] = []
  for (const worker of fleet.old) {
    fresh.push(await fleet.replace())
    worker.stop()
  }
  const tookMs = await settled(fleet, startedAtMs)

  await expectNothingLost(fleet, { tookMs, fresh, startedTogether: 1 }, 'five in turn')
})

test.runIf(IS_TIMED)(
  `${ROLLING_DEPLOYS} rolling deploys of five workers under ${LIVE} live tasks, one after the other`,
  {
    timeout: 1_200_000,
  },
  async ({ onTestFinished }) => {
    const fleet = await busyFleet(5, onTestFinished)
    const { world } = fleet
    const ids = [...fleet.ids]
    const producing = new AbortController()
    const produced = keepLive(world, ids, producing.signal)

    let running: readonly BuiltWorker[] = fleet.old
    for (let deploy = 1; deploy <= ROLLING_DEPLOYS; deploy += 1) {
      const fresh: BuiltWorker[] = []
      for (const worker of running) {
        fresh.push(await fleet.replace(`выпуск-${deploy + 1}`))
        worker.stop()
      }
      expect(await Promise.all(running.map(({ exited }) => exited))).toEqual(running.map(() => 0))
      running = fresh
    }
    producing.abort()
    await produced
    await Promise.all(ids.map((id) => world.foothold.handle(id).result({ timeoutMs: DONE_MS })))

    const tasks = await world.query<{ id: string; status: string; crashes: number; handovers: number }>(
      `select id, status, crashes_total as crashes, (select count(*)::int from public.transitions
       where task_id = t.id and "to" = 'pending' and last_reason = 'graceful_shutdown') as handovers
     from foothold.tasks t where parent_id is null`,
    )
    const drafts = await draftsByTask(world)
    const extra = tasks.map(({ id, handovers }) => ({ id, handovers, extra: (drafts.get(id) ?? 0) - 1 }))
    const waits = await handoverWaitsMs(world)
    console.log(
      `${ROLLING_DEPLOYS} rolling deploys: ${tasks.length} tasks, ${waits.length} handovers, ${extra.reduce((sum, one) => sum + one.extra, 0)} extra answers of the model; ` +
        `handed over to claimed p50 ${waits[Math.floor(waits.length / 2)]}, p99 ${waits[Math.floor(waits.length * 0.99)]}, max ${waits.at(-1)} ms`,
    )
    expect(tasks).toHaveLength(ids.length)
    expect(tasks.filter(({ status, crashes }) => status !== 'completed' || crashes > 0)).toEqual([])
    expect(await doubledOrMissing(world, ids)).toEqual([])
    expect(extra.filter((one) => one.extra < 0 || one.extra > one.handovers)).toEqual([])
  },
)

/** Submits what is missing to so many unfinished ones, until it is told to stop. */
async function keepLive(world: World, ids: TaskId[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const [row] = await world.query<{ n: number }>(
      `select count(*)::int as n from foothold.tasks where status in ('pending', 'processing', 'waiting') and parent_id is null`,
    )
    const missing = LIVE - (row?.n ?? LIVE)
    if (missing > 0) ids.push(...(await submitMany(world, missing, ids.length)))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Of each task that a stopping worker put back, until another one had it; ascending. */
async function handoverWaitsMs({ query }: World): Promise<number[]> {
  const rows = await query<{ ms: number }>(
    `select round(extract(epoch from c.at - p.at) * 1000)::int as ms from public.transitions p cross join lateral (
       select at from public.transitions c where c.task_id = p.task_id and c.n > p.n and c."to" = 'processing' order by c.n limit 1) c
     where p."to" = 'pending' and p.last_reason = 'graceful_shutdown' order by 1`,
  )
  return rows.map(({ ms }) => ms)
}
