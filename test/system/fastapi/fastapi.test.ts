import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { connect } from 'foothold'
import { createTestDatabase } from 'foothold/testing'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { type Process, PYTHON, startService, startWorker } from './processes.ts'

const seed = Number(process.env['FOOTHOLD_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

async function openDatabase(): Promise<{ readonly url: string; readonly sql: pg.Client }> {
  const database = await createTestDatabase(inject('postgresUrl'))
  const sql = new pg.Client({ connectionString: database.url })
  await sql.connect()
  onTestFinished(async () => {
    await sql.end()
    await database.drop()
  })
  return { url: database.url, sql }
}

test('a Python producer inserts its row and submits in one transaction; a rollback leaves neither', async () => {
  const { url, sql } = await openDatabase()
  await sql.query(`insert into foothold.agents values ('order@1', 'order', 1, 900000, false, now())`)

  const script = fileURLToPath(new URL('producer.py', import.meta.url))
  const { stdout } = await promisify(execFile)(PYTHON, [script, url])
  const told = JSON.parse(stdout) as Record<
    'committed' | 'after_refusal',
    { row: number; task: string; created: boolean }
  > & {
    rows: string[]
    tasks: string[]
    refused: object
  }

  expect(told.rows).toEqual(['стол у окна', 'стул'])
  expect(told.tasks).toEqual([told.committed.task, told.after_refusal.task])
  expect(told.committed.created).toBe(true)
  expect(told.refused).toEqual({
    sqlstate: 'TH005',
    message: expect.stringMatching(/^DEDUPE_CONFLICT: .* use a new key for a new request\.$/),
    details: { dedupeKey: 'committed', taskId: told.committed.task },
  })
  // The same request under the same key, from TypeScript.
  await using foothold = await openFoothold(url)
  const input = { request: 'стол у окна', row: told.committed.row, client: 'Анна', weight: 0.1 + 0.2 }
  expect(await foothold.submit('order', input, { dedupeKey: 'committed' })).toMatchObject({
    id: told.committed.task,
    created: false,
  })
})

async function openFoothold(url: string): Promise<Awaited<ReturnType<typeof connect>> & AsyncDisposable> {
  const foothold = await connect(url, { logger: 'silent' })
  return { ...foothold, [Symbol.asyncDispose]: () => foothold.close() }
}

const TASKS = 200
const WORKERS = 2
/** The lease is four of them: a killed worker's tasks go on elsewhere after about three seconds. */
const HEARTBEAT_MS = 750
const KILLS = 5
/** On a busy machine replacements are slow to come, and the tasks may be through before the last kill. */
const KILLS_MIN = 3
/**
 * So many more rows have to end before each kill, and its replacement has to run: kills in a row would make suspects of
 * the same tasks, which run alone, one after the other.
 */
const ROWS_BETWEEN_KILLS = 15
const REFUSED = TASKS / 10
const isRefused = (index: number): boolean => index % 10 === 9

test(`200 tasks through killed workers: each row of the service's table ends, and its ledger has each effect once (seed ${seed})`, async () => {
  const { url, sql } = await openDatabase()
  const service = await startService(url, seed)
  const workers = Array.from({ length: WORKERS }, () => startWorker(url, service, HEARTBEAT_MS))
  await until(async () => (await count(sql, `foothold.worker_view where status = 'active'`)) === WORKERS)

  const submitted = inLanes(8, TASKS, async (index) => {
    const answer = await fetch(`${service}/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client: `клиент ${index % 7}`,
        request: isRefused(index) ? `невозможно ${index}` : `стол ${index}`,
      }),
    })
    expect(answer.status).toBe(202)
  })

  const kills = await killWorkers(sql, workers, () => startWorker(url, service, HEARTBEAT_MS))
  await submitted
  await until(async () => (await count(sql, ENDED_ROWS)) === TASKS)

  // What nobody refused is done, but for a task that was alone in its worker when that died the third time.
  const unexpected = await sql.query<{ error: string; isCrash: boolean }>(
    `select t.error, o.error ->> 'code' = 'ORPHANED' as "isCrash"
     from shop.tasks t join foothold.dedupe_view k on k.key = 'shop.tasks:' || t.id join foothold.outcome_view o using (task_id)
     where t.status = 'failed' and t.request not like 'невозможно%'`,
  )
  expect(unexpected.rows.filter((row) => !row.isCrash)).toEqual([])
  const crashed = unexpected.rows.length
  expect(crashed).toBeLessThanOrEqual(kills)
  const rows = await sql.query(
    `select status, count(*)::int, count(result)::int as results, count(error)::int as errors from shop.tasks group by 1 order by 1`,
  )
  const done = TASKS - REFUSED - crashed
  expect(rows.rows).toEqual([
    { status: 'done', count: done, results: done, errors: 0 },
    { status: 'failed', count: REFUSED + crashed, results: 0, errors: REFUSED + crashed },
  ])
  // Nothing was done twice, nothing for a refused row, and both effects for each row that is done.
  expect(await count(sql, `(select 1 from shop.ledger group by task, action having count(*) > 1) twice`)).toBe(0)
  expect(await count(sql, `shop.ledger l join shop.tasks t on t.id = l.task where t.request like 'невозможно%'`)).toBe(
    0,
  )
  expect(await count(sql, `shop.ledger l join shop.tasks t on t.id = l.task where t.status = 'done'`)).toBe(2 * done)
  const unlike = `shop.tasks t join shop.ledger l on l.task = t.id and l.action = 'book' where t.result::jsonb <> l.answer::jsonb`
  expect(await count(sql, unlike)).toBe(0)
  // The row is written by the last step's transaction; the task itself ends a statement later.
  await until(
    async () => (await count(sql, `foothold.task_view where status not in ('completed', 'dead_letter')`)) === 0,
  )

  // There was something to survive: kills that hit tasks, and requests that were repeated.
  expect(kills).toBeGreaterThanOrEqual(KILLS_MIN)
  const orphans = await count(sql, `foothold.attempt_view where reason = 'orphaned'`)
  const calls = (await (await fetch(`${service}/calls`)).json()) as Record<string, number>
  expect(orphans).toBeGreaterThanOrEqual(kills)
  expect(calls['/book']).toBeGreaterThan(200)
  expect(calls['/notify']).toBeGreaterThan(180)
  console.log(
    `${kills} kills, ${orphans} attempts orphaned, ${crashed} tasks given up for it, calls ${JSON.stringify(calls)}`,
  )
})

const ENDED_ROWS = `shop.tasks where status in ('done', 'failed')`

/**
 * Each time the worker that holds the most tasks. Never one that runs a single task: three such deaths would rightly be
 * held against it.
 */
async function killWorkers(sql: pg.Client, workers: Process[], replace: () => Process): Promise<number> {
  let kills = 0
  let endedBefore = 0
  await until(async () => {
    const ended = await count(sql, ENDED_ROWS)
    if (ended === TASKS) return true
    const running = await count(sql, `foothold.worker_view where status = 'active' and lease_until > foothold.clock()`)
    if (ended < endedBefore + ROWS_BETWEEN_KILLS || running < WORKERS) return false
    const { rows } = await sql.query<{ pid: number }>(
      `select split_part(worker_id, ':', 2)::int as pid from foothold.task_view where status = 'processing'
       group by 1 having count(*) > 1 order by count(*) desc limit 1`,
    )
    const victim = workers.find((worker) => worker.pid === rows[0]?.pid && !worker.hasExited())
    if (victim === undefined) return false
    await victim.kill()
    workers.push(replace())
    kills += 1
    endedBefore = ended
    return kills === KILLS
  })
  return kills
}

async function count(sql: pg.Client, from: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>(`select count(*)::int from ${from}`)
  return rows[0]?.count ?? 0
}

/** Looks until it is so; the test's own limit ends it. */
async function until(look: () => Promise<boolean>): Promise<void> {
  while (!(await look())) await new Promise((resolve) => setTimeout(resolve, 50))
}

async function inLanes(lanes: number, length: number, run: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < length) await run(next++)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
