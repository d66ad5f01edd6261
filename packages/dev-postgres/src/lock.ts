import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { DevPostgresError, isMissing } from './errors.ts'
import { isAlive } from './processes.ts'

// Longer than a first start on a slow machine (copy, initdb, start), short enough that a person reads the error.
const WAIT_MS = 60_000
const POLL_MS = 50

/** Two programs started at the same moment on the same folder: one prepares and starts it, the other adopts. */
export async function withLock<T>(path: string, run: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + WAIT_MS
  while (!take(path)) {
    if (Date.now() > deadline) {
      throw new DevPostgresError(
        'DATA_DIR_BUSY',
        `Another process has been starting PostgreSQL for ${WAIT_MS / 1000} s. Cure: end it, or remove ${path}.`,
      )
    }
    await pause(POLL_MS)
  }
  try {
    return await run()
  } finally {
    rmSync(path, { force: true })
  }
}

function take(path: string): boolean {
  try {
    const file = openSync(path, 'wx', 0o600)
    writeSync(file, String(process.pid))
    closeSync(file)
    return true
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    if (isAbandoned(path)) rmSync(path, { force: true })
    return false
  }
}

function isAbandoned(path: string): boolean {
  try {
    const holder = Number(readFileSync(path, 'utf8'))
    // Empty for the instant between its making and its writing.
    return holder > 0 && !isAlive(holder)
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}
