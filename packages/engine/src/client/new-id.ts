import { randomBytes } from 'node:crypto'
import type { TaskId } from '../protocol/task-context.ts'

/** The 12 bits after the milliseconds count on within one of them, so that ids of one process sort as they were made. */
const COUNT_MAX = 0xfff
/** Room above the random start of each count. */
const START_MAX = 0x7ff

let lastMs = 0
let count = 0

/**
 * A UUID of version 7 (RFC 9562): 48 bits of milliseconds, a counter, then random bits: new rows stand together in the
 * index. Made here, not by the database, so that an INSERT whose answer was lost can be sent again.
 */
export function newTaskId(nowMs: number = Date.now()): TaskId {
  const bytes = randomBytes(16)
  if (nowMs > lastMs) {
    lastMs = nowMs
    count = bytes.readUInt16BE(6) & START_MAX
  } else if (count < COUNT_MAX) {
    count += 1
  } else {
    // Ahead of the clock by a little rather than out of order; also when the clock was set back.
    lastMs += 1
    count = 0
  }
  bytes.writeUIntBE(lastMs, 0, 6)
  bytes.writeUInt16BE(0x7000 | count, 6)
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
