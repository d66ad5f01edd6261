import { type DevPostgres, startDevPostgres } from '@foothold/dev-postgres'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/index.ts'
import { until } from '../integration/world.ts'
import { pauseServer } from '../paused-server.ts'
import { engineDatabase } from '../test-database.ts'
import { LEDGER, ledgerAgent } from './ledger-agent.ts'
import { startWorkerProcess } from './processes.ts'

const OUTAGE_MS = 30_000
const BEFORE = 30
const TASKS = 90

/** Each returns what ends it. */
const OUTAGES: Readonly<Record<string, (server: DevPostgres) => Promise<() => Promise<unknown>>>> = {
  async stopped(server) {
    await server.stop({ mode: 'fast' })
    return () => server.start()
  },
  async paused(server) {
    const wake = pauseServer(server.pid)
    return async () => wake()
  },
}

test.for(Object.entries(OUTAGES))(
  'PostgreSQL %s for 30 s under load, at defaults: every accepted task ends, nothing is doubled, and of the workers the one that died in it is lost, no other',
  {
    timeout: 180_000,
  },
  async ([, begin]) => {
    // The outside world keeps its books elsewhere: it does not fall with the engine's database.
    const world = await engineDatabase()
    const books = new pg.Pool({ connectionString: world.ownerUrl, max: 2 })
    await books.query(LEDGER)
    const server = await startDevPostgres({ purpose: 'test' })
    const engine = new pg.Pool({ connectionString: server.url, max: 2 })
    engine.on('error', () => undefined)
    const foothold = await connect(server.url, { logger: 'silent' })
    onTestFinished(async () => {
      await foothold.close()
      await Promise.all([engine.end(), books.end()])
      await server.stop()
      await world.drop()
    })
    await engine.query(LEDGER)
    const settings = {
      url: server.url,
      ledgerUrl: world.url,
      receiver: 'keys',
      pauseMs: 300,
      heartbeatMs: 5_000,
      leaseMs: 20_000,
      graceMs: 6_500,
    } as const
    const workers = Array.from({ length: 3 }, () => startWorkerProcess(settings))
    for (const worker of workers) await worker.tells((told) => told['message'] === 'worker started')
    const asked = ledgerAgent(world.url, { receiver: 'keys' })
    const accepted: string[] = []
    const submit = async (): Promise<void> => {
      await foothold.submit(asked, null).then(
        ({ id }) => accepted.push(id),
        () => undefined,
      )
    }

    for (let n = 0; n < BEFORE; n += 1) await submit()
    await until('some tasks are in their steps', async () => {
      const { rows } = await books.query<{ n: number }>(`select count(*)::int as n from ledger where what = 'request'`)
      return (rows[0]?.n ?? 0) >= 5
    })
    const stoppedAt = Date.now()
    const end = await begin(server)
    const [dead, ...alive] = workers
    dead?.kill('SIGKILL')
    const during = Array.from({ length: TASKS - BEFORE }, submit)
    await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS - (Date.now() - stoppedAt)))
    await end()
    await Promise.all(during)

    await until(
      'every task has ended, and every accepted one is among them',
      async () => {
        const { rows } = await engine.query<{ ended: number; accepted: number; all: number }>(
          `select count(*) filter (where status = 'completed')::int as ended, count(*)::int as all,
                  count(*) filter (where status = 'completed' and id = any($1))::int as accepted from foothold.tasks`,
          [accepted],
        )
        return rows[0]?.accepted === accepted.length && rows[0].ended === rows[0].all
      },
      90_000,
    )
    expect(accepted.length).toBeGreaterThanOrEqual(BEFORE)
    for (const worker of alive) expect(() => process.kill(worker.pid, 0)).not.toThrow()
    const { rows: deals } = await books.query<{ task: string; n: number }>(
      `select task, count(*)::int as n from ledger where what = 'deal' group by task`,
    )
    expect(deals.filter(({ n }) => n !== 1)).toEqual([])
    // A submit whose answer came too late may have made a task that its producer does not know of: it runs like any other.
    const { rows: tasks } = await engine.query<{ n: number }>('select count(*)::int as n from foothold.tasks')
    expect(deals).toHaveLength(tasks[0]?.n ?? 0)
    const { rows: replies } = await engine.query<{ n: number }>('select count(*)::int as n from replies')
    expect(replies).toEqual(tasks)
    const { rows: lost } = await engine.query<{ id: string }>(`select id from foothold.workers where status = 'lost'`)
    expect(lost.map(({ id }) => id.split(':')[1])).toEqual([String(dead?.pid)])
  },
)
