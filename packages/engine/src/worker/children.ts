import { reach } from '../lifecycle/probe.ts'
import type { AgentRef } from '../protocol/agent.ts'
import { decode, encode } from '../protocol/codec.ts'
import { FootholdError, isFootholdError } from '../protocol/errors.ts'
import type { ChildOptions, ChildrenOptions } from '../protocol/task-context.ts'
import { PRIORITIES } from '../protocol/views.ts'
import { type ChildStanding, readChild, startChild } from '../store/children.ts'
import type { LoadedStep, StepError } from '../store/claim.ts'
import { queryableOf } from '../store/submit.ts'
import { type StoredInput, storedInput, type Target, targetOf } from '../store/target.ts'
import type { Execution } from './execution.ts'
import { BLANK_WRITE } from './step-write.ts'

type ChildStep = Pick<LoadedStep, 'key' | 'status' | 'childId' | 'isChildOver' | 'output' | 'error'>

const NEW_CHILD = { status: 'waiting', isChildOver: false, output: null, error: null } as const

/** A child task: started once per key, waited for without a slot, its end stored as the step's result. */
export async function runChild(
  execution: Execution,
  key: string,
  agent: AgentRef<string, never>,
  input: unknown,
  options: ChildOptions,
): Promise<unknown> {
  const step = execution.open(key, 'child', 1)
  if (step?.status === 'completed') return execution.valueOf(step)
  if (step?.status === 'failed' && !step.retryable) throw childError(key, step.error)
  let standing: ChildStep = step ?? (await start(execution, key, agent, input, options))
  let mayHaveEnded = standing.isChildOver
  for (;;) {
    if (mayHaveEnded) {
      standing = await takeEnd(execution, standing)
      if (standing.status === 'completed') return decode(standing.output as string)
      if (standing.status === 'failed') throw childError(key, standing.error)
    }
    await execution.park({ key, kind: 'child', dueAtMs: null, reason: null, detail: null })
    mayHaveEnded = true
  }
}

/**
 * Lanes that take the inputs in their order. In every attempt the children that are under way are met before one that has
 * not begun, and each holds its lane, so the bound holds over all attempts.
 */
export async function runChildren(
  execution: Execution,
  key: string,
  agent: AgentRef<string, never>,
  inputs: readonly unknown[],
  { atOnce, ...options }: ChildrenOptions,
): Promise<unknown[]> {
  const outputs: unknown[] = Array.from(inputs, () => undefined)
  const failures = new Map<number, unknown>()
  let next = 0
  const lane = async (): Promise<void> => {
    for (let at = next++; at < inputs.length; at = next++) {
      try {
        outputs[at] = await runChild(execution, `${key}:${at}`, agent, inputs[at], options)
      } catch (error) {
        if (!isChildFailure(error)) throw error
        failures.set(at, error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, inputs.length) }, lane))
  // By the place among the inputs, not by the time: the same in every replay.
  if (failures.size > 0) throw failures.get(Math.min(...failures.keys()))
  return outputs
}

async function start(
  execution: Execution,
  key: string,
  agent: AgentRef<string, never>,
  input: unknown,
  { tenant, priority }: ChildOptions,
): Promise<ChildStep> {
  const { db, meter, notifier } = execution.services
  const { target, stored } = await checked(execution, key, agent, input)
  await execution.enter(key)
  try {
    const answer = await startChild(
      db,
      execution.fence,
      {
        key,
        agent: target.name,
        handler: target.handler,
        tenant: tenant ?? null,
        priority: priority === undefined ? null : PRIORITIES.indexOf(priority),
        isInputChecked: target.code !== null,
        deadlineMs: target.deadlineMs,
        isInputStable: stored.isStable,
        input: stored.text,
      },
      execution.statement('starting a child task'),
    )
    if (!answer.isHeld) execution.loseLease()
    if (answer.isCancelRequested) execution.stop('cancelled')
    if (answer.childId !== null) {
      meter.submitted(target.name)
      notifier.notify(target.handler)
      await reach('child.started', execution.fence.taskId, key)
      return { ...NEW_CHILD, key, childId: answer.childId }
    }
    if (answer.isCancelRequested) throw new FootholdError('ATTEMPT_ENDED', { reason: 'cancelled' })
    // An earlier try of the same statement landed.
    return (await execution.stored(key)) as ChildStep
  } finally {
    execution.leave()
  }
}

/** The input is checked before anything is stored; what is wrong with it is the parent's own fault. */
async function checked(
  execution: Execution,
  key: string,
  agent: AgentRef<string, never>,
  input: unknown,
): Promise<{ readonly target: Target; readonly stored: StoredInput }> {
  const { db } = execution.services
  const target = await targetOf(agent, queryableOf(db, 'looking for an agent'), db)
  try {
    return { target, stored: await storedInput(target, input) }
  } catch (error) {
    if (!isFootholdError(error, 'INPUT_INVALID')) throw error
    throw new FootholdError('INVALID_ARGUMENT', { field: `child ${key}`, problem: error.message }, { cause: error })
  }
}

/** Stores how the child ended as the step's result. One that a person let go on meanwhile is waited for again. */
async function takeEnd(execution: Execution, step: ChildStep): Promise<ChildStep> {
  const { key } = step
  await execution.enter(key)
  try {
    const childId = step.childId as string
    const child = await readChild(execution.services.db, childId, execution.statement('reading a child task'))
    const result = resultOf(childId, child)
    // A step that waits is written only where it does not: after a resume.
    if (result.status === 'waiting' && step.status === 'waiting') return step
    const answer = await execution.store({ ...BLANK_WRITE, key, kind: 'child', tries: 0, retryable: false, ...result })
    if (answer.kind === 'stands') return answer.step
    return {
      ...step,
      status: result.status,
      output: result.output,
      error: result.error === null ? null : (JSON.parse(result.error) as StepError),
    }
  } finally {
    execution.leave()
  }
}

interface Result {
  readonly status: 'completed' | 'failed' | 'waiting'
  readonly output: string | null
  readonly error: string | null
}

function resultOf(taskId: string, child: ChildStanding | null): Result {
  switch (child?.status) {
    case 'completed':
      return { status: 'completed', output: child.output, error: null }
    case 'cancelled':
      return failed(new FootholdError('TASK_CANCELLED', { taskId, reason: child.cancelReason ?? 'cancelled' }))
    case 'dead_letter': {
      const { message } = (child.error === null ? {} : decode(child.error)) as { readonly message?: string }
      const reason = child.lastReason ?? 'step_failed'
      return failed(new FootholdError('TASK_DEAD_LETTER', { taskId, reason, message: message ?? reason }))
    }
    case undefined:
      return failed(new FootholdError('TASK_NOT_FOUND', { taskId }))
    case 'pending':
    case 'processing':
    case 'waiting':
      return { status: 'waiting', output: null, error: null }
  }
}

function failed({ code, message, details }: FootholdError): Result {
  return {
    status: 'failed',
    output: null,
    error: encode({ code, message, reason: 'child_failed', details }, 'the error'),
  }
}

const CHILD_FAILURES = ['TASK_DEAD_LETTER', 'TASK_CANCELLED', 'TASK_NOT_FOUND'] as const

/** The same in every replay. Uncaught it stops the parent, which is blamed on this step. */
function childError(key: string, stored: StepError | null): FootholdError {
  const code = CHILD_FAILURES.find((each) => each === stored?.code) ?? 'TASK_NOT_FOUND'
  return new FootholdError(code, { taskId: 'unknown', ...(stored?.details as object | undefined), key } as never)
}

function isChildFailure(error: unknown): boolean {
  return CHILD_FAILURES.some((code) => isFootholdError(error, code))
}
