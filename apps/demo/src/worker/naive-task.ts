import type { Effect, StepContext, TaskContext, TaskId } from 'foothold'

/** A task without the guard: a step is a function call, an effect is a request without a key, nothing is kept. */
export function naiveTask(id: string, attempt: number): TaskContext {
  const context: StepContext = {
    signal: new AbortController().signal,
    tries: 1,
    emit: () => undefined,
    recordUsage: () => undefined,
  }
  const isAbsent = (): never => {
    throw new Error('the naive worker has no such thing')
  }
  return {
    id: id as TaskId,
    agent: 'support',
    version: 1,
    attempt,
    tenant: null,
    tickAt: null,
    signal: context.signal,
    step: async (_key, run) => (await run(context)) as never,
    effect: (async (_key: string, effect: Effect<unknown, unknown>) =>
      effect.send(effect.request, { ...context, idempotencyKey: '' })) as TaskContext['effect'],
    transaction: isAbsent,
    sleep: isAbsent,
    sleepUntil: isAbsent,
    waitForSignal: isAbsent,
    approval: isAbsent,
    child: isAbsent,
    children: isAbsent,
  }
}
