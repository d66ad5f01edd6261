import type { TaskId } from './task-context.ts'

/** A person's answer to `task.approval`, or that nobody gave one in time. */
export type Approval =
  | {
      readonly decision: 'approved' | 'rejected'
      readonly by: string
      readonly note: string | null
      readonly at: Date
    }
  | { readonly decision: 'expired' }

export interface ApprovalQuestion {
  /** What is to be approved, in a line. At most 200 characters. */
  readonly title: string
  /** At most 10,000 characters. */
  readonly details?: string | undefined
  /** Then it is `expired`. Default: it waits for ever. */
  readonly timeoutMs?: number | undefined
}

export interface ApprovalAnswer {
  readonly decision: 'approved' | 'rejected'
  /** Who says so. */
  readonly by: string
  readonly note?: string | undefined
}

/** A question that nobody has answered. */
export interface OpenApproval {
  readonly taskId: TaskId
  readonly key: string
  readonly agent: string
  readonly tenant: string | null
  readonly title: string
  readonly details: string | null
  readonly askedAt: Date
  readonly expiresAt: Date | null
}
