import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isMissing } from './errors.ts'
import { commandOf, isAlive } from './processes.ts'

export type Postmaster =
  | { readonly kind: 'none' }
  | { readonly kind: 'alive'; readonly pid: number; readonly port: number; readonly isReady: boolean }

/**
 * What PostgreSQL says about itself in postmaster.pid: pid, folder, start, port, socket folder, address, memory, status.
 * A file whose process is gone, or whose number now belongs to another program, counts as none.
 */
export function readPostmaster(data: string): Postmaster {
  let lines: string[]
  try {
    lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
  } catch (error) {
    if (isMissing(error)) return { kind: 'none' }
    throw error
  }
  const pid = Number(lines[0])
  if (!(pid > 0) || !isAlive(pid) || !commandOf(pid).includes(data)) return { kind: 'none' }
  return { kind: 'alive', pid, port: Number(lines[3]), isReady: lines[7]?.trim() === 'ready' }
}

/** PostgreSQL refuses to start while the number in a left-behind file is in use, whoever uses it. */
export function removeStaleFile(data: string): void {
  if (readPostmaster(data).kind === 'none') rmSync(join(data, 'postmaster.pid'), { force: true })
}
