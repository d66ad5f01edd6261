import type { Approval, ApprovalQuestion } from '../protocol/approvals.ts'
import { decode, encode } from '../protocol/codec.ts'
import { askApproval } from '../store/approvals.ts'
import type { LoadedStep } from '../store/claim.ts'
import type { Execution } from './execution.ts'
import { storeWaitOver } from './waits.ts'

/** A question to a person: asked once, waited for without a slot. */
export async function runApproval(execution: Execution, key: string, question: ApprovalQuestion): Promise<Approval> {
  let step = execution.open(key, 'approval', 1) ?? (await ask(execution, key, question))
  const { clock } = execution.services
  const dueAtMs = step.dueInMs === null ? null : clock.monotonicMs() + step.dueInMs
  while (step.status !== 'completed') {
    if (dueAtMs !== null && clock.monotonicMs() >= dueAtMs) {
      // Over, unless an answer came first: it stands then.
      return approvalOf(await storeWaitOver(execution, key, 'approval'))
    }
    await execution.park({ key, kind: 'approval', dueAtMs, reason: null, detail: null })
    step = (await execution.stored(key)) ?? step
  }
  return approvalOf(decode(step.output ?? 'null'))
}

/** A wait that ran out has no value. */
function approvalOf(value: unknown): Approval {
  return value === null ? { decision: 'expired' } : (value as Approval)
}

async function ask(
  execution: Execution,
  key: string,
  { title, details, timeoutMs }: ApprovalQuestion,
): Promise<Pick<LoadedStep, 'status' | 'dueInMs' | 'output'>> {
  await execution.enter(key)
  try {
    const request = encode({ title, details: details ?? null }, `approval ${key}`)
    const question = { key, request, timeoutMs: timeoutMs ?? null }
    const { db } = execution.services
    if (!(await askApproval(db, execution.fence, question, execution.statement('asking for an approval')))) {
      execution.loseLease()
    }
    return { status: 'waiting', dueInMs: timeoutMs ?? null, output: null }
  } finally {
    execution.leave()
  }
}
