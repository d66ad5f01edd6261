import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Simulators, startSimulators } from '@foothold/simulators'
import { connect } from 'foothold'
import { createTestDatabase } from 'foothold/testing'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import type { OnCallWorkerSettings } from './on-call-worker.ts'
import { until } from './world.ts'

/**
 * The CRM is down while 400 tasks come in, through two real workers and a real chat. Time is pressed together: a task is
 * tried for 6 s instead of 15 minutes, and the CRM stays away from before the first task until the last of them has
 * failed for good, as it does in an outage that outlasts the deadline. Nothing else is shortened.
 */

const TASKS = 400
const DEADLINE_MS = 6_000
const ON_CALL = '-100200300'

interface Told {
  readonly kind: 'telegram.message' | 'telegram.edit'
  readonly at: number
  readonly text: string
}

test('the CRM is down under 400 tasks: on-call gets one message, its count is right, and it is marked resolved', async () => {
  const { crm, telegram } = await simulators()
  const database = await createTestDatabase(inject('postgresUrl'))
  onTestFinished(() => database.drop())
  const foothold = await connect(database.url, { logger: 'silent' })
  onTestFinished(() => foothold.close())
  const sql = new pg.Client({ connectionString: database.url })
  sql.on('error', () => undefined)
  await sql.connect()
  onTestFinished(() => sql.end())
  const settings = {
    databaseUrl: database.url,
    crmUrl: crm.baseUrl,
    telegram: { token: telegram.token, apiRoot: telegram.apiRoot, chatId: ON_CALL },
    deadlineMs: DEADLINE_MS,
    release: '2.0',
  }
  await Promise.all([startWorker(settings), startWorker(settings)])
  const startedAt = Date.now()
  const lap = (what: string): void =>
    console.log(`on-call: ${((Date.now() - startedAt) / 1_000).toFixed(1)} s: ${what}`)
  const told = (): Promise<Told[]> => toldOnCall(telegram)
  const newest = async (is: (text: string) => boolean): Promise<Told | null> => {
    const last = (await told()).at(-1)
    return last !== undefined && is(last.text) ? last : null
  }
  const tasks = async (status: string): Promise<number> =>
    Number((await sql.query('select count(*) from foothold.tasks where status = $1', [status])).rows[0]?.count)

  const downId = await crm.control.fault({ fault: { kind: 'reset' }, times: null })
  const ids = []
  await sql.query('begin')
  for (let index = 0; index < TASKS; index += 1) {
    const { id } = await foothold.submit('orders', { orderId: '5501' }, { transaction: sql })
    ids.push(id)
  }
  await sql.query('commit')
  lap(`${TASKS} tasks are in`)
  const first = await until('on-call was told', async () => (await told())[0], 90_000)
  lap('the first message has come')
  await until('all are dead letters', async () => (await tasks('dead_letter')) === TASKS, 120_000)
  lap('all are dead letters')
  const counted = await until(
    'the message counts them',
    () => newest((text) => text.includes(`${TASKS} задач остановлено`)),
    30_000,
  )
  lap(`the message counts ${TASKS}:\n${counted.text}`)

  await crm.control.call('DELETE', `faults/${downId}`)
  await Promise.all(ids.map((id) => foothold.resume(id)))
  lap('all are resumed')
  const resolved = await until('it is resolved', () => newest((text) => text.startsWith('✅')), 120_000)
  lap(`it is resolved:\n${resolved.text}`)

  const all = await told()
  const sent = all.filter(({ kind }) => kind === 'telegram.message')
  const gaps = all.slice(1).map(({ at }, index) => at - (all[index]?.at ?? 0))
  lap(`${sent.length} message, ${all.length - sent.length} edits, at least ${Math.min(...gaps)} ms apart`)
  const alerts = await sql.query<{ at: Date }>('select at from foothold.alerts order by at')
  const firstAt = alerts.rows[0]?.at ?? new Date(0)
  lap(`the message came ${first.at - firstAt.getTime()} ms after the first dead letter`)
  expect(sent).toHaveLength(1)
  expect(alerts.rows).toHaveLength(TASKS)
  expect(counted.text).toContain('CRM did not answer')
  expect(all.filter(({ text }) => text.startsWith('✅'))).toHaveLength(1)
  expect(resolved.text).toContain(`Больше ни одна из ${TASKS} не стоит`)
  expect(resolved.text).toContain(`выполнено ${TASKS}, отменено 0, в работе 0`)
  expect(Math.min(...gaps)).toBeGreaterThan(4_000)
  expect(await tasks('completed')).toBe(TASKS)
}, 300_000)

async function simulators(): Promise<Simulators> {
  const started = await startSimulators({ telegram: { chatIds: [ON_CALL] }, crm: { mode: 'keys' } })
  onTestFinished(() => started.close())
  return started
}

async function toldOnCall({ control }: Simulators['telegram']): Promise<Told[]> {
  const { committed } = await control.ledger()
  return committed.map(({ kind, at, value }) => ({
    kind: kind as Told['kind'],
    at: Date.parse(at),
    text: (value as { readonly text: string }).text,
  }))
}

async function startWorker(settings: OnCallWorkerSettings): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('./on-call-worker.ts', import.meta.url)), [JSON.stringify(settings)], {
    execArgv: ['--conditions=@foothold/source', '--import', 'tsx'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the worker ended with ${String(code)} before it was ready`)
  })
  await Promise.race([once(child, 'message'), ended])
  ended.catch(() => undefined)
  return child
}
