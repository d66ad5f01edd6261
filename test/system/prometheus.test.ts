import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePorts } from '../../tools/free-ports.ts'
import { askHeld } from '../e2e/five-steps.ts'
import { openWorld, until, type World } from '../e2e/world.ts'
import { has } from './debian-programs.ts'
import { dashboardExpressions, type Expression, ruleExpressions, rules, selectorsOf } from './expressions.ts'
import { DEPLOY, type Monitoring, startMonitoring } from './monitoring.ts'

const isInstalled = ['prometheus', 'promtool', 'prometheus-alertmanager'].every(has)
const METRICS_TOKEN = 'metrics-token-of-this-test'
/** A kill is noticed after the lease of 20 s; the rest is for a busy machine. */
const PATIENCE_MS = 90_000

const soon = (what: string, look: () => Promise<boolean>): Promise<boolean> => until(what, look, PATIENCE_MS)

/** Expressions that have no data in a system where this has not happened; what they look at must have some. */
const QUIET: { readonly [of: string]: string } = {
  FootholdQueueStuck: 'no task waits for two minutes',
  FootholdNoWorkers: 'workers are active',
  FootholdDatabaseDown: 'the database answers',
  FootholdServiceAway: 'no service is away for long',
  FootholdCodeChanged: 'no code has changed under a task',
  FootholdTargetDown: 'every process answers',
  FootholdStepsFailing: 'few tries fail',
  FootholdRecoverySlow: 'the lease is 20 s',
  FootholdSlotsFull: 'slots are free',
  FootholdEventLoopBlocked: 'no code computes for seconds',
  FootholdHeartbeatLate: 'heartbeats are in time',
  FootholdTokensWasted: 'few tokens are wasted',
}

describe.runIf(isInstalled)('the files for Prometheus', () => {
  test('promtool takes the rules, and each alert fires and keeps still where its cases say so', () => {
    const folder = join(DEPLOY, 'prometheus')
    const files = (name: string): string[] => readdirSync(join(folder, name)).map((each) => `${name}/${each}`)
    const promtool = (...args: string[]): string => execFileSync('promtool', args, { cwd: folder, encoding: 'utf8' })

    expect(promtool('check', 'rules', ...files('rules'))).toContain('SUCCESS')
    expect(promtool('test', 'rules', ...files('tests'))).toContain('SUCCESS')
    expect(promtool('check', 'config', '--syntax-only', 'prometheus.yml')).toContain('SUCCESS')
  })

  test('amtool takes the configuration of Alertmanager', () => {
    const file = join(DEPLOY, 'alertmanager/alertmanager.yml')

    expect(execFileSync('amtool', ['check-config', file], { encoding: 'utf8' })).toContain('SUCCESS')
  })
})

describe.runIf(isInstalled)('a real Prometheus that scrapes the live system', () => {
  let world: World
  let monitoring: Monitoring

  /** The life of a system in fast motion: answers, a failed try, a deploy, a kill, a dead letter. */
  beforeAll(async () => {
    world = await openWorld()
    const [first = 0, second = 0, serverPort = 0] = await freePorts(3)
    const workerAt = (port: number, release: string) =>
      world.start('worker', {
        environment: { OPERATIONS_PORT: String(port), FOOTHOLD_METRICS_TOKEN: METRICS_TOKEN, RELEASE: release },
      })
    const address = (port: number): string => `127.0.0.1:${port}`
    const server = {
      PORT: String(serverPort),
      FOOTHOLD_TOKEN: 'operators-alone',
      FOOTHOLD_METRICS_TOKEN: METRICS_TOKEN,
    }
    const workers = new Map(
      await Promise.all([first, second].map(async (port) => [port, await workerAt(port, 'выпуск-1')] as const)),
    )
    await world.start('server', { environment: server })
    /** Has one of the workers hold a task in the middle of its plan, and ends that worker. */
    const interrupt = async (request: { orderId: string; gate: string }, signal: NodeJS.Signals): Promise<void> => {
      const [asked] = await askHeld(world, [{ step: 'plan', clientId: '103', ...request }])
      await world.simulators.gigachat.control.waitForGate(request.gate, { timeoutMs: PATIENCE_MS })
      const holder = await holderOf(asked?.taskId)
      const [port, worker] = [...workers].find(([, { pid }]) => holder.includes(`:${pid}:`)) ?? []
      if (port === undefined || worker === undefined) throw new Error(`no worker of ours holds it: ${holder}`)
      worker.kill(signal)
      await worker.exited
      workers.set(port, await workerAt(port, 'выпуск-2'))
    }
    monitoring = await startMonitoring({
      metricsToken: METRICS_TOKEN,
      targets: { 'foothold-worker': [address(first), address(second)], 'foothold-server': [address(serverPort)] },
    })
    await soon('every target is scraped', async () => {
      const targets = await monitoring.targets()
      return targets.length === 3 && targets.every(({ health }) => health === 'up')
    })
    await soon('nothing has been counted yet', () => isSeen('sum(foothold_attempts_ended_total) == 0'))

    await submit(`http://${address(serverPort)}`, '5501')
    await withCutAnswer('5502')
    await soon('an answer and its repetition are stored', () =>
      isSeen('sum(foothold_attempts_ended_total{reason="completed"}) >= 2'),
    )
    // A deploy, then a kill: what they interrupt goes on at the neighbour.
    await interrupt({ orderId: '5503', gate: 'deploy' }, 'SIGTERM')
    await soon('the handover has recovered', () =>
      isSeen('sum(foothold_recovery_seconds_count{cause="handed_over"}) > 0'),
    )
    await interrupt({ orderId: '5504', gate: 'kill' }, 'SIGKILL')
    await soon('the orphan has recovered', () => isSeen('sum(foothold_recovery_seconds_count{cause="orphaned"}) > 0'))
  }, 300_000)

  afterAll(async () => {
    await monitoring?.stop()
    await world?.close()
  })

  async function isSeen(expression: string): Promise<boolean> {
    return (await monitoring.query(expression)).length > 0
  }

  test('a dead letter fires its alert once, and one message goes to whoever is on call', async () => {
    const dead = await world.foothold.submit('support', { client: 'никто' })
    await soon('it is a dead letter', async () => (await dead.state()).status === 'dead_letter')

    const ofDeadLetters = async () =>
      (await monitoring.alerts()).filter(({ labels }) => labels['alertname'] === 'FootholdDeadLetters')
    await soon('the alert fires', async () => (await ofDeadLetters()).some(({ state }) => state === 'firing'))
    await soon('on-call is told', async () => monitoring.pages.length > 0)
    const firing = await ofDeadLetters()
    await world.foothold.cancel(dead.id)
    // The alert outlasts its cause by two minutes, so that a gap in the scrapes does not end it.
    await soon('Prometheus sees it gone', async () => !(await isSeen('foothold:tasks:max{status="dead_letter"} > 0')))

    expect(firing).toMatchObject([{ state: 'firing', labels: { agent: 'support', severity: 'page' } }])
    expect(
      monitoring.pages.map(({ status, groupLabels, alerts }) => ({ status, groupLabels, count: alerts.length })),
    ).toEqual([{ status: 'firing', groupLabels: { alertname: 'FootholdDeadLetters', agent: 'support' }, count: 1 }])
  })

  test('every expression of the dashboard has data', async () => {
    const expressions = dashboardExpressions()

    const empty = await emptyOf(expressions)

    expect(expressions.length).toBeGreaterThan(25)
    expect(empty).toEqual([])
    console.log(`${expressions.length} expressions of the dashboard have data`)
  })

  test('every expression of the rules has data, or none because nothing is wrong, and looks at series that there are', async () => {
    const expressions = ruleExpressions()

    const empty = await emptyOf(expressions.filter(({ of }) => of !== 'FootholdDeadLetters'))
    const blind = await emptyOf(expressions.flatMap((each) => selectorsOf(each).map((text) => ({ of: each.of, text }))))

    expect(empty.map(({ of }) => of).filter((of) => QUIET[of] === undefined)).toEqual([])
    expect(blind).toEqual([])
    console.log(
      `of ${expressions.length} rules ${empty.length} have no data: ${empty.map(({ of }) => `${of} (${QUIET[of]})`).join(', ')}`,
    )
  })

  async function emptyOf(expressions: readonly Expression[]): Promise<readonly Expression[]> {
    const answers = await Promise.all(expressions.map(async ({ text }) => monitoring.query(text)))
    return expressions.filter((_, index) => answers[index]?.length === 0)
  }

  async function submit(url: string, orderId: string): Promise<void> {
    const answer = await fetch(`${url}/v1/tasks`, {
      method: 'POST',
      headers: { authorization: 'Bearer operators-alone', 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'support', input: { client: { id: '101' }, text: `Где мой заказ ${orderId}?` } }),
    })
    expect(answer.status).toBe(201)
  }

  async function withCutAnswer(orderId: string): Promise<void> {
    await world.inTransaction(async (sql) => {
      const input = { client: { id: '102' }, text: `Где мой заказ ${orderId}?` }
      const { id } = await world.foothold.submit('support', input, { transaction: sql })
      await world.simulators.gigachat.control.fault({
        match: { path: 'chat/completions', contains: '<tool_results>', header: { name: 'x-session-id', value: id } },
        fault: { kind: 'cut', afterEvents: 2 },
      })
    })
  }

  async function holderOf(id: string | undefined): Promise<string> {
    const [row] = await world.query<{ holder: string }>(
      'select worker_id as holder from foothold.tasks where id = $1',
      [id],
    )
    return row?.holder ?? ''
  }
})

test('every alert is listed as quiet, or shown to fire', () => {
  const alerts = rules().flatMap(({ alert }) => alert ?? [])

  expect(Object.keys(QUIET).filter((name) => !alerts.includes(name))).toEqual([])
})
