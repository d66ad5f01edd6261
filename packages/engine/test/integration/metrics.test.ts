import { execFileSync } from 'node:child_process'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { connect, type Foothold, REASONS, ReasonedError, TerminalError } from '../../src/index.ts'
import { METRICS } from '../../src/metrics/catalogue.ts'
import { createDatabaseGauges } from '../../src/metrics/database-gauges.ts'
import { expositionOf } from '../../src/metrics/exposition.ts'
import { Meter } from '../../src/metrics/meter.ts'
import { openDatabase } from '../../src/store/database.ts'
import { agentOf, gate, setup, until } from './world.ts'

const hasPromtool = canRun('promtool')

function canRun(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    console.warn(`skipped: ${command} is not installed, so the exposition is not checked by it`)
    return false
  }
}

/** Values by line, as Prometheus would read them. */
async function scrape(foothold: Foothold): Promise<ReadonlyMap<string, number>> {
  return seriesOf((await foothold.exposition()).text)
}

function seriesOf(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

test('every label set that can be known stands at 0 before anything has happened', async () => {
  const { foothold, worker } = await setup()
  const support = agentOf(async () => 'да', { name: 'support', reasons: ['telegram_rejected'] })

  await worker([support], { release: 'выпуск-7' })
  const series = await scrape(foothold)

  for (const reason of [...REASONS, 'telegram_rejected']) {
    expect(series.get(`foothold_attempts_ended_total{agent="support",reason="${reason}"}`), reason).toBe(0)
    expect(series.get(`foothold_dead_letters_total{agent="support",reason="${reason}"}`), reason).toBe(0)
    expect(series.get(`foothold_step_failures_total{agent="support",reason="${reason}"}`), reason).toBe(0)
  }
  expect(series.get('foothold_orphans_total{outcome="pending"}')).toBe(0)
  expect(series.get('foothold_recovery_seconds_count{cause="orphaned"}')).toBe(0)
  expect(series.get('foothold_step_duration_seconds_count{agent="support",kind="effect"}')).toBe(0)
  expect(series.get('foothold_tasks{agent="support",status="dead_letter"}')).toBe(0)
  expect(series.get('foothold_queue_oldest_seconds{agent="support"}')).toBe(0)
  expect(series.get('foothold_worker_info{release="выпуск-7"}')).toBe(1)
  expect(series.get('foothold_worker_status{status="active"}')).toBe(1)
  expect(series.get('foothold_workers{status="active"}')).toBe(1)
  expect(series.get('foothold_database_up')).toBe(1)
})

test('a process counts what it did: attempts by reason, steps, failed tries, dead letters and tokens', async () => {
  const { foothold, worker } = await setup()
  const busy = agentOf(
    async (task) => {
      await task.step(
        'refused once',
        ({ tries, recordUsage }) => {
          recordUsage({ model: 'GigaChat-2', inputTokens: 100, outputTokens: tries === 1 ? 7 : 40 })
          if (tries === 1) throw new ReasonedError('занято', { reason: 'llm_unavailable' })
          return 'ответ'
        },
        { retry: { firstDelayMs: 1, delayMaxMs: 1 } },
      )
      await task.effect('ticket', { request: {}, send: async () => 1, onDoubt: 'repeat' })
      await task.transaction('store', async (sql) => (await sql.query('select 1 as one')).rows[0].one)
      await task.sleep('rest', 1)
    },
    { name: 'busy' },
  )
  const doomed = agentOf(
    (task) =>
      task.step('refused', () => {
        throw new TerminalError('нет', { reason: 'crm_rejected' })
      }),
    { name: 'doomed' },
  )
  await worker([busy, doomed])

  await (await foothold.submit(busy, null)).result()
  const dead = await foothold.submit(doomed, null)
  await until('it is a dead letter', async () => (await dead.state()).status === 'dead_letter')
  const series = await until('the last attempt is counted', async () => {
    const seen = await scrape(foothold)
    return seen.get('foothold_dead_letters_total{agent="doomed",reason="crm_rejected"}') === 1 ? seen : null
  })

  const ended = (agent: string, reason: string): number | undefined =>
    series.get(`foothold_attempts_ended_total{agent="${agent}",reason="${reason}"}`)
  expect([ended('busy', 'llm_unavailable'), ended('busy', 'none'), ended('busy', 'completed')]).toEqual([1, 1, 1])
  expect(ended('doomed', 'crm_rejected')).toBe(1)
  expect(series.get('foothold_tasks_submitted_total{agent="busy"}')).toBe(1)
  expect(series.get('foothold_tasks_claimed_total{agent="busy"}')).toBe(3)
  expect(series.get('foothold_step_failures_total{agent="busy",reason="llm_unavailable"}')).toBe(1)
  for (const kind of ['step', 'effect', 'transaction']) {
    expect(series.get(`foothold_step_duration_seconds_count{agent="busy",kind="${kind}"}`), kind).toBe(1)
  }
  const tokens = (direction: string, fate: string): number | undefined =>
    series.get(`foothold_model_tokens_total{agent="busy",model="GigaChat-2",direction="${direction}",fate="${fate}"}`)
  expect([tokens('input', 'kept'), tokens('output', 'kept')]).toEqual([100, 40])
  expect([tokens('input', 'wasted'), tokens('output', 'wasted')]).toEqual([100, 7])
})

test('a handover, an orphan and their recovery are counted by the processes that saw them', async () => {
  const { foothold, worker, url, query } = await setup()
  // Nobody but the test declares anybody lost, however busy the machine is.
  const patient = { heartbeatMs: 500, leaseMs: 60_000 }
  const begun = [gate(), gate()]
  const slow = agentOf(
    (task) =>
      task.step('slow', async ({ signal }) => {
        begun[task.attempt - 1]?.open()
        const stopped = new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        )
        if (task.attempt <= 2) await stopped
      }),
    { name: 'slow' },
  )
  const first = await worker([slow], patient)
  const handle = await foothold.submit(slow, null)
  await begun[0]?.opened

  await first.drain({ graceMs: 0 })
  const afterDrain = await scrape(foothold)
  expect(afterDrain.get('foothold_handovers_total{agent="slow"}')).toBe(1)
  expect(afterDrain.get('foothold_worker_status{status="active"}')).toBe(0)

  const other = await connect(url, { logger: 'silent' })
  onTestFinished(() => other.close())
  await Promise.all([worker([slow], patient), other.worker({ agents: [slow], graceMs: 0, ...patient }).start()])
  await begun[1]?.opened
  // The row says so and its process does not know: to everybody else that is what a kill looks like.
  await query(
    `update foothold.workers set status = 'lost' where id = (select worker_id from foothold.tasks where id = $1)`,
    [handle.id],
  )
  await handle.result()
  // The task may have ended elsewhere before the worker that lost it has heard of it.
  const lost = 'foothold_attempts_ended_total{agent="slow",reason="lease_lost"}'
  await until('the old worker has learned of it', async () => {
    const both = [await scrape(foothold), await scrape(other)]
    return both.some((samples) => samples.get(lost) === 1)
  })

  const [ours, theirs] = [await scrape(foothold), await scrape(other)]
  const sum = (name: string): number => (ours.get(name) ?? 0) + (theirs.get(name) ?? 0)
  expect(sum('foothold_orphans_total{outcome="pending"}')).toBe(1)
  expect(sum('foothold_attempts_ended_total{agent="slow",reason="orphaned"}')).toBe(1)
  expect(sum('foothold_attempts_ended_total{agent="slow",reason="lease_lost"}')).toBe(1)
  expect(sum('foothold_recovery_seconds_count{cause="handed_over"}')).toBe(1)
  expect(sum('foothold_recovery_seconds_count{cause="orphaned"}')).toBe(1)
  expect(sum('foothold_recovery_seconds_sum{cause="orphaned"}')).toBeGreaterThan(0)
})

test('the gauges of the whole system come from one bounded look', async () => {
  const { foothold, query } = await setup()
  await query(
    `insert into foothold.agents (handler, name, version, deadline_ms, has_dead_letter_handler, registered_at)
     values ('many@1', 'many', 1, 60000, false, now())`,
  )
  await query(
    `insert into foothold.tasks (id, agent, handler, status, run_at, created_at)
     select foothold.new_id(), 'many', 'many@1', case when n <= 10500 then 'pending' when n <= 10503 then 'dead_letter' else 'completed' end,
            now() - interval '1 hour', now() - interval '1 hour' from generate_series(1, 20000) n`,
  )

  const series = await scrape(foothold)

  expect(series.get('foothold_tasks{agent="many",status="pending"}')).toBe(10_000)
  expect(series.get('foothold_tasks{agent="many",status="dead_letter"}')).toBe(3)
  expect(series.get('foothold_queue_oldest_seconds{agent="many"}')).toBeGreaterThan(3_500)
  expect([...series.keys()].filter((name) => name.includes('completed'))).toEqual([])
})

test('without a database a scrape still says what the process knows, in time', async () => {
  const away = openDatabase({ url: 'postgres://postgres@127.0.0.1:1/nowhere', poolSize: 1 })
  onTestFinished(() => away.close())

  const { families } = await createDatabaseGauges(away).families()

  expect(
    expositionOf(families)
      .split('\n')
      .filter((line) => !line.startsWith('#')),
  ).toEqual(['foothold_database_up 0', ''])
})

test('a reason or a model made of an id costs a bounded number of series', () => {
  const meter = new Meter()

  for (let id = 0; id < 5_000; id += 1) meter.stepFailed('support', `order_${id}`)
  const failures = meter.families().find(({ name }) => name === METRICS.stepFailures.name)

  expect(failures?.samples).toHaveLength(2_001)
  expect(failures?.samples.find(({ labels }) => labels['reason'] === 'other')?.value).toBe(3_000)
})

test('merged into a registry of prom-client the values are the same, once', async () => {
  const { foothold, worker } = await setup()
  const quick = agentOf(async (task) => task.step('one', () => 1), { name: 'quick' })
  await worker([quick])
  await (await foothold.submit(quick, null)).result()
  const registry = new Registry()
  registry.setDefaultLabels({ app: 'shop' })

  foothold.metrics(registry)
  foothold.metrics(registry)
  const merged = seriesOf(await registry.metrics())

  expect(merged.get('foothold_tasks_submitted_total{agent="quick",app="shop"}')).toBe(1)
  expect(merged.get('foothold_step_duration_seconds_bucket{agent="quick",kind="step",le="+Inf",app="shop"}')).toBe(1)
  expect(new Set((await registry.getMetricsAsJSON()).map(({ name }) => name))).toEqual(
    new Set(Object.values(METRICS).map(({ name }) => name)),
  )
  expect(() => registry.clear()).not.toThrow()
  expect(() =>
    foothold.metrics({
      registerMetric: () => {
        throw new Error('taken')
      },
    }),
  ).toThrow(/registry/)
})

test.runIf(hasPromtool)('promtool finds nothing to say about the exposition', async () => {
  const { foothold, worker } = await setup()
  await worker([agentOf(async () => 1, { name: 'quick' })], { release: 'a "quoted" \\ выпуск\n7' })

  const { text, contentType } = await foothold.exposition()
  const said = execFileSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })

  expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(said).toBe('')
})
