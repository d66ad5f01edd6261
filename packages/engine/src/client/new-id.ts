import { randomBytes } from 'node:crypto'
import type { TaskId } from '../protocol/task-context.ts'

/**
 * A UUID of version 7 (RFC 9562): 48 bits of milliseconds, then random bits, so that ids sort by age and new rows stand
 * together in the index. Made here, not by the database, so that an INSERT whose answer was lost can be sent again.
 */
export function newTaskId(nowMs: number = Date.now()): TaskId {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(nowMs, 0, 6)
  bytes[6] = 0x70 | ((bytes[6] as number) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}` as TaskId
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Ids come from addresses and forms: whatever is none finds no task, instead of an error of the database. */
export function parseTaskId(id: unknown): TaskId | null {
  if (typeof id !== 'string') return null
  const lower = id.toLowerCase()
  return UUID.test(lower) ? (lower as TaskId) : null
}
