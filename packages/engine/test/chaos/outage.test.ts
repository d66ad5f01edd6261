import { startDevPostgres } from '@foothold/dev-postgres'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/index.ts'
import { until } from '../integration/world.ts'
import { engineDatabase } from '../test-database.ts'
import { LEDGER, ledgerAgent } from './ledger-agent.ts'
import { startWorkerProcess } from './processes.ts'

const OUTAGE_MS = 30_000
const BEFORE = 30
const TASKS = 90

test('PostgreSQL stopped for 30 s under load, at defaults: no process restarts, every accepted task ends, nothing is doubled', async () => {
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
  const workers = [startWorkerProcess(settings), startWorkerProcess(settings)]
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
  await server.stop({ mode: 'fast' })
  const during = Array.from({ length: TASKS - BEFORE }, submit)
  await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS - (Date.now() - stoppedAt)))
  await server.start()
  await Promise.all(during)

  await until(
    'every accepted task has ended',
    async () => {
      const { rows } = await engine.query<{ n: number }>(
        `select count(*)::int as n from foothold.tasks where status = 'completed' and id = any($1)`,
        [accepted],
      )
      return rows[0]?.n === accepted.length
    },
    90_000,
  )
  expect(accepted.length).toBeGreaterThanOrEqual(BEFORE)
  for (const worker of workers) expect(() => process.kill(worker.pid, 0)).not.toThrow()
  const { rows: deals } = await books.query<{ task: string; n: number }>(
    `select task, count(*)::int as n from ledger where what = 'deal' group by task`,
  )
  expect(deals.filter(({ n }) => n !== 1)).toEqual([])
  expect(deals).toHaveLength(accepted.length)
  const { rows: replies } = await engine.query<{ n: number }>('select count(*)::int as n from replies')
  expect(replies).toEqual([{ n: accepted.length }])
  const { rows: lost } = await engine.query(`select id from foothold.workers where status = 'lost'`)
  expect(lost).toEqual([])
}, 180_000)
