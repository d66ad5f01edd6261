import type { Effect, StoppingEffect, TaskContext } from 'foothold'
import type { Tell } from './messages.ts'

/** Tells of every step: when it runs, what it writes, and when its result is there, run just now or answered from the store. */
export function observed(task: TaskContext, kept: 'stored' | 'in_memory', tell: Tell): TaskContext {
  const { id, attempt } = task
  const step = (key: string, state: 'running' | 'stored' | 'in_memory'): void =>
    tell({ type: 'step', task: id, attempt, key, state })
  const watched = async <Result>(key: string, running: Promise<Result>): Promise<Result> => {
    const result = await running
    step(key, kept)
    return result
  }
  return {
    id,
    attempt,
    agent: task.agent,
    version: task.version,
    tenant: task.tenant,
    tickAt: task.tickAt,
    signal: task.signal,
    step: (key, run, options) =>
      watched(
        key,
        task.step(
          key,
          (context) => {
            step(key, 'running')
            const emit = (channel: string, chunk: string): void => {
              context.emit(channel, chunk)
              tell({ type: 'text', task: id, attempt, text: chunk })
            }
            return run({ ...context, emit })
          },
          options,
        ),
      ),
    effect: ((key: string, effect: Effect<unknown, unknown> | StoppingEffect<unknown, unknown>) => {
      const send: typeof effect.send = (request, context) => {
        step(key, 'running')
        return effect.send(request, context)
      }
      return watched(key, task.effect(key, { ...effect, send } as Effect<unknown, unknown>))
    }) as TaskContext['effect'],
    transaction: (key, run, options) => watched(key, task.transaction(key, run, options)),
    sleep: (key, forMs) => task.sleep(key, forMs),
    sleepUntil: (key, at) => task.sleepUntil(key, at),
    waitForSignal: task.waitForSignal.bind(task) as TaskContext['waitForSignal'],
    approval: (key, question) => task.approval(key, question),
    child: task.child.bind(task),
    children: task.children.bind(task),
  }
}
