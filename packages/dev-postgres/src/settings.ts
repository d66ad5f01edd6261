import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { DevPostgresError, isMissing } from './errors.ts'
import { inside } from './folders.ts'

/** What has to stay the same between runs, so that the URL does. Readable by its owner only. */
export interface Settings {
  readonly port: number
  /** Null when the server trusts everybody on 127.0.0.1, as a test server does. */
  readonly password: string | null
}

export function readSettings(home: string): Settings | undefined {
  try {
    return parse(readFileSync(inside.settings(home), 'utf8'), inside.settings(home))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export function writeSettings(home: string, settings: Settings): void {
  const path = inside.settings(home)
  writeFileSync(`${path}.new`, `${JSON.stringify(settings)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

export function urlOf({ port, password }: Settings): string {
  return `postgres://foothold${password === null ? '' : `:${password}`}@127.0.0.1:${port}/foothold`
}

function parse(text: string, path: string): Settings {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && 'port' in value && 'password' in value) {
      const { port, password } = value
      if (typeof port === 'number' && (typeof password === 'string' || password === null)) return { port, password }
    }
  } catch {
    // Said below: broken text and text of another shape have the same cure.
  }
  throw new DevPostgresError(
    'DATA_DIR_NOT_OURS',
    `${path} is not {"port": …, "password": …}. Cure: restore it, or remove its folder to begin with empty data.`,
  )
}
