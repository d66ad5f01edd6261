import type { ApprovalAnswer, OpenApproval } from '../protocol/approvals.ts'
import { cleanMessage, decode } from '../protocol/codec.ts'
import { FootholdError } from '../protocol/errors.ts'
import { checkKey } from '../protocol/names.ts'
import type { TaskId } from '../protocol/task-context.ts'
import { type ApprovalStanding, answerApproval, readApproval, readOpenApprovals } from '../store/approvals.ts'
import type { Database } from '../store/database.ts'
import type { Notifier } from '../store/notify.ts'
import { checkOneOf, checkOptionNames, checkText, checkWholeNumber } from './arguments.ts'
import { conflict, requireId } from './steer.ts'

/** Shown in lists. */
const NOTE_CHARACTERS_MAX = 2_000
const LIMIT = 100
const LIMIT_MAX = 1_000

export async function approve(
  { db, notifier }: { readonly db: Database; readonly notifier: Notifier },
  taskId: string,
  key: string,
  answer: ApprovalAnswer,
): Promise<void> {
  checkKey('key', key)
  checkOptionNames('answer', answer, ['decision', 'by', 'note'])
  checkOneOf('answer.decision', answer.decision, ['approved', 'rejected'])
  checkKey('answer.by', answer.by)
  if (answer.note !== undefined) checkText('answer.note', answer.note)
  const id = requireId(taskId)
  const { decision, by } = answer
  const note = answer.note === undefined ? null : cleanMessage(answer.note, NOTE_CHARACTERS_MAX)
  const stored = await answerApproval(db, { taskId: id, key, decision, by, note })
  if (stored !== null) {
    if (stored.isPending) notifier.notify(stored.handler)
    return
  }
  refuseUnlessSame(id, key, { decision, by, note }, await readApproval(db, id, key))
}

type Given = { readonly decision: string; readonly by: string; readonly note: string | null }

/** An earlier try of the same statement may have landed; anything else is told what stands. */
function refuseUnlessSame(id: TaskId, key: string, given: Given, standing: ApprovalStanding | null): void {
  if (standing === null) throw new FootholdError('TASK_NOT_FOUND', { taskId: id })
  const { status, step, open } = standing
  const name = `approval ${JSON.stringify(key)}`
  if (step === null) throw new FootholdError('STEP_NOT_FOUND', { taskId: id, key, known: open })
  if (step.kind !== 'approval') throw conflict(id, status, `step ${JSON.stringify(key)} is a ${step.kind}, no approval`)
  if (step.status !== 'completed') {
    throw conflict(id, status, step.isOver ? `${name} has expired` : `${name} takes no answer any more`)
  }
  const stands = decode(step.output ?? 'null') as (Given & { readonly at: Date }) | null
  if (stands === null) throw conflict(id, status, `${name} has expired`)
  if (stands.decision === given.decision && stands.by === given.by && stands.note === given.note) return
  throw conflict(id, status, `${name} was ${stands.decision} by ${stands.by} at ${stands.at.toISOString()}`)
}

export async function listApprovals(
  db: Database,
  options: { readonly limit?: number | undefined },
): Promise<readonly OpenApproval[]> {
  checkOptionNames('options', options, ['limit'])
  const { limit = LIMIT } = options
  checkWholeNumber('options.limit', limit, { min: 1, max: LIMIT_MAX })
  const rows = await readOpenApprovals(db, limit)
  return rows.map(({ request, tenant, askedAt, expiresAt, ...row }) => {
    const { title, details } = decode(request) as { readonly title: string; readonly details: string | null }
    return {
      ...row,
      taskId: row.taskId as TaskId,
      tenant: tenant === '' ? null : tenant,
      title,
      details,
      askedAt: new Date(askedAt),
      expiresAt: expiresAt === null ? null : new Date(expiresAt),
    }
  })
}
