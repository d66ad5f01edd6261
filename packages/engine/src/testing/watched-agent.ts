import type { Agent } from '../protocol/agent.ts'
import { encode } from '../protocol/codec.ts'
import { failureOf } from '../protocol/failure.ts'
import type { Effect, EffectContext, StoppingEffect, TaskContext } from '../protocol/task-context.ts'

/** One call of an effect's `send`, as its author's code saw it. */
export interface Sent {
  readonly taskId: string
  readonly key: string
  readonly idempotencyKey: string
  readonly request: string
  readonly promise: 'keys' | 'find' | 'repeat' | 'stop' | 'ask'
  /** `refused`: the receiver surely did nothing. `unknown` until it has answered. */
  outcome: 'answered' | 'refused' | 'unknown'
  result: unknown
}

type AnyEffect = Effect<unknown, unknown> | StoppingEffect<unknown, unknown>

/** The same agent, with a look at each request that leaves it. */
export function watchedAgent<Watched extends Agent>(agent: Watched, onSent: (sent: Sent) => void): Watched {
  const code = agent['~code']
  const run = (task: TaskContext, input: unknown): Promise<unknown> => {
    const effect = (key: string, given: AnyEffect): Promise<unknown> =>
      task.effect(key, watched(task.id, key, given, onSent) as Effect<unknown, unknown>)
    return code.run({ ...task, effect: effect as TaskContext['effect'] }, input)
  }
  return { ...agent, '~code': { ...code, run } }
}

function watched(taskId: string, key: string, effect: AnyEffect, onSent: (sent: Sent) => void): AnyEffect {
  return {
    ...effect,
    async send(request: unknown, context: EffectContext) {
      const sent: Sent = {
        taskId,
        key,
        idempotencyKey: context.idempotencyKey,
        request: encode(request, 'the request'),
        promise: effect.onDoubt ?? (effect.keyWindowMs === undefined ? 'find' : 'keys'),
        outcome: 'unknown',
        result: undefined,
      }
      onSent(sent)
      try {
        sent.result = await effect.send(request, context)
        sent.outcome = 'answered'
        return sent.result
      } catch (error) {
        if (failureOf(error).isDefinite) sent.outcome = 'refused'
        throw error
      }
    },
  } as AnyEffect
}

/** What a task's requests break of what their effects promise; null when they keep it. */
export function brokenPromise(sent: readonly Sent[]): string | null {
  for (const key of new Set(sent.map((one) => one.key))) {
    const own = sent.filter((one) => one.key === key)
    const standing = own.filter(({ outcome }) => outcome !== 'refused')
    const answered = own.filter(({ outcome }) => outcome === 'answered').length
    const name = `effect ${JSON.stringify(key)}`
    if (new Set(standing.map(({ idempotencyKey }) => idempotencyKey)).size > 1) return `${name} was sent under two keys`
    if (new Set(standing.map(({ request }) => request)).size > 1) return `${name} was sent with two different requests`
    if (answered < 2) continue
    const promise = own[0]?.promise
    if (promise === 'find') {
      return `${name} was done ${answered} times: its find() did not find what the first request had done`
    }
    if (promise === 'stop' || promise === 'ask') return `${name} was done ${answered} times`
  }
  return null
}
