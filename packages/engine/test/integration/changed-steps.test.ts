import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Agent, agent, type TaskContext, type TaskId } from '../../src/index.ts'
import { setup, until } from './world.ts'

/**
 * Random code under random other code: what the first one stored meets steps in another order, renamed, removed, of another
 * kind or version. Whatever meets whatever, a result answers the call that has its key, kind and version, or nobody's.
 */

interface Step {
  readonly key: string
  readonly kind: 'step' | 'transaction' | 'effect' | 'sleep'
  readonly version: number
}

const ROUNDS = 60
const STEADY = { concurrency: ROUNDS, heartbeatMs: 1_000, leaseMs: 20_000 }
const SEED = Number(process.env['FOOTHOLD_TEST_SEED'] ?? Date.now() % 1_000_000)
const KINDS = ['step', 'transaction', 'effect', 'sleep'] as const

test(`changed code is given a stored result under the same key, kind and version, or stops (seed ${SEED})`, async () => {
  const random = randomOf(SEED)
  const { foothold, worker, query } = await setup()
  const rounds = Array.from({ length: ROUNDS }, (_, round) => {
    const before = stepsOf(random)
    const stopsAt = stopOf(before, random)
    return { name: `round${round}`, before, stopsAt, after: changed(before, random) }
  })
  const wrong: string[] = []
  const ran = new Map<string, string[]>()
  const agentOfRound = (name: string, steps: readonly Step[], stopsAt: number | null, era: string): Agent =>
    agent({
      name,
      input: z.unknown(),
      async run(task) {
        for (const [index, step] of steps.entries()) {
          const value = await call(task, step, async (signal) => {
            if (index === stopsAt) await new Promise((_, reject) => signal.addEventListener('abort', reject))
            ran.set(`${name} ${era}`, [...(ran.get(`${name} ${era}`) ?? []), step.key])
            return textOf(step)
          })
          if (step.kind !== 'sleep' && value !== textOf(step))
            wrong.push(`${name}: ${textOf(step)} was given ${String(value)}`)
        }
        return null as never
      },
    }) as Agent
  const first = await worker(
    rounds.map(({ name, before, stopsAt }) => agentOfRound(name, before, stopsAt, 'before')),
    { ...STEADY, release: 'r1' },
  )
  const ids = await Promise.all(rounds.map(async ({ name }) => (await foothold.submit(name, null)).id))
  await until(
    'each stands in the step where it is stopped',
    async () => {
      const standing = await query<{ agent: string; keys: string[] }>(`
      select t.agent, array(select s.key from foothold.agent_steps s where s.task_id = t.id and s.status = 'completed') as keys from foothold.tasks t
      where t.status = 'processing'`)
      return rounds.every(({ name, stopsAt }) => {
        const stored = standing.find((row) => row.agent === name)?.keys ?? []
        return stored.length === stopsAt
      })
    },
    40_000,
  )
  await first.drain({ graceMs: 800 })
  const stored = await query<{ agent: string; key: string; kind: string; version: number }>(`
    select t.agent, s.key, s.kind, s.version from foothold.tasks t join foothold.agent_steps s on s.task_id = t.id`)

  await worker(
    rounds.map(({ name, after }) => agentOfRound(name, after, null, 'after')),
    { ...STEADY, release: 'r2' },
  )
  await until(
    'each has ended or waits for other code',
    async () => {
      const [row] = await query<{ n: number }>(
        `select count(*)::int as n from foothold.tasks where status = 'completed' or waiting_for = 'code'`,
      )
      return row?.n === ROUNDS
    },
    40_000,
  )

  const seen = await Promise.all(
    rounds.map(async ({ name }, round) => {
      const task = await foothold.task(ids[round] as TaskId)
      return {
        name,
        stops: task?.waitingFor === 'code' ? task.error?.message : null,
        ran: ran.get(`${name} after`) ?? [],
      }
    }),
  )
  const expected = rounds.map(({ name, after }) => {
    const rows = stored.filter((row) => row.agent === name)
    const ranKeys: string[] = []
    for (const step of after) {
      const row = rows.find(({ key }) => key === step.key)
      if (row !== undefined && (row.kind !== step.kind || row.version !== step.version)) {
        return {
          name,
          stops: expect.stringContaining(`step "${step.key}" is stored as a ${row.kind}, version ${row.version}`),
          ran: ranKeys,
        }
      }
      const isDone =
        row !== undefined && step.key !== rounds.find((one) => one.name === name)?.before[stoppedOf(name)]?.key
      if (!isDone && step.kind !== 'sleep') ranKeys.push(step.key)
    }
    return { name, stops: null, ran: ranKeys }
  })
  function stoppedOf(name: string): number {
    return rounds.find((one) => one.name === name)?.stopsAt ?? -1
  }
  expect(wrong).toEqual([])
  expect(seen).toEqual(expected)
}, 90_000)

function textOf({ key, kind, version }: Step): string {
  return `${key}, ${kind}, ${version}`
}

async function call(task: TaskContext, step: Step, work: (signal: AbortSignal) => Promise<string>): Promise<unknown> {
  const { key, kind, version } = step
  switch (kind) {
    case 'step':
      return task.step(key, ({ signal }) => work(signal), { version })
    case 'transaction':
      return task.transaction(key, (_sql, { signal }) => work(signal), { version })
    case 'effect':
      return task.effect(key, { request: null, version, onDoubt: 'repeat', send: (_, { signal }) => work(signal) })
    case 'sleep':
      return task.sleep(key, 1)
  }
}

function stepsOf(random: () => number): Step[] {
  const count = 2 + Math.floor(random() * 5)
  return Array.from({ length: count }, (_, index) => {
    const kind = (index === 0 ? 'step' : KINDS[Math.floor(random() * KINDS.length)]) ?? 'step'
    return { key: `k${index}`, kind, version: kind === 'sleep' ? 1 : 1 + Math.floor(random() * 2) }
  })
}

/** No sleep, in which nothing of the code stands, and no transaction, of which a process has only so many sessions. */
function stopOf(steps: readonly Step[], random: () => number): number {
  const stops = steps.flatMap(({ kind }, index) => (kind === 'step' || kind === 'effect' ? [index] : []))
  return stops[Math.floor(random() * stops.length)] as number
}

/** Another order, and here and there another name, kind or version, one step less, one more. */
function changed(before: readonly Step[], random: () => number): Step[] {
  const after = before
    .map((step) => ({ step, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ step }): Step => {
      const dice = random()
      if (dice < 0.1) return { ...step, key: `${step.key} renamed` }
      if (dice < 0.2 && step.kind !== 'sleep') return { ...step, version: 3 }
      if (dice < 0.3) return { ...step, kind: KINDS.find((kind) => kind !== step.kind) ?? 'step', version: 1 }
      return step
    })
  if (random() < 0.3) after.pop()
  if (random() < 0.5) after.splice(Math.floor(random() * after.length), 0, { key: 'new', kind: 'step', version: 1 })
  return after
}

/** mulberry32 */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
