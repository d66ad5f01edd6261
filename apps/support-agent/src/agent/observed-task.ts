import type { Effect, StoppingEffect, TaskContext } from 'foothold'

export interface StepDone {
  readonly task: string
  readonly attempt: number
  readonly step: string
  readonly ms: number
}

/** Tells of each step that this attempt ran and stored; stored ones of earlier attempts answer in silence. */
export function observed(task: TaskContext, onStepDone: (done: StepDone) => void): TaskContext {
  async function tell<Result>(step: string, run: (hasRun: () => void) => Promise<Result>): Promise<Result> {
    let startedMs: number | null = null
    const result = await run(() => {
      startedMs ??= performance.now()
    })
    if (startedMs !== null) {
      onStepDone({ task: task.id, attempt: task.attempt, step, ms: Math.round(performance.now() - startedMs) })
    }
    return result
  }

  return {
    id: task.id,
    agent: task.agent,
    version: task.version,
    attempt: task.attempt,
    tenant: task.tenant,
    tickAt: task.tickAt,
    signal: task.signal,
    step: (key, run, options) =>
      tell(key, (hasRun) =>
        task.step(
          key,
          (context) => {
            hasRun()
            return run(context)
          },
          options,
        ),
      ),
    transaction: (key, run, options) =>
      tell(key, (hasRun) =>
        task.transaction(
          key,
          (sql, context) => {
            hasRun()
            return run(sql, context)
          },
          options,
        ),
      ),
    effect: ((key: string, effect: Effect<unknown, unknown> | StoppingEffect<unknown, unknown>) =>
      tell(key, (hasRun) => {
        const send: typeof effect.send = (request, context) => {
          hasRun()
          return effect.send(request, context)
        }
        return task.effect(key, { ...effect, send } as Effect<unknown, unknown>)
      })) as TaskContext['effect'],
    sleep: (key, forMs) => task.sleep(key, forMs),
    sleepUntil: (key, at) => task.sleepUntil(key, at),
    waitForSignal: task.waitForSignal.bind(task) as TaskContext['waitForSignal'],
    approval: (key, question) => task.approval(key, question),
    child: task.child.bind(task),
    children: task.children.bind(task),
  }
}
