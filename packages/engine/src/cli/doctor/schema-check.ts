import { isFootholdError } from '../../protocol/errors.ts'
import { KNOWN_VERSION } from '../../store/migrate.ts'
import { type Check, error, ok } from './check.ts'

/** `found`: the applied version, 0 where there is no schema, or why it must not be used. */
export function schemaCheck(found: number | Error): Check {
  const known = KNOWN_VERSION
  if (found instanceof Error) {
    return error(
      'schema',
      found.message,
      isFootholdError(found, 'SCHEMA_NEWER') ? 'Update the package foothold.' : null,
    )
  }
  if (found === 0) return error('schema', 'there is none', 'Run: foothold migrate')
  if (found < known) return error('schema', `version ${found}; this library needs ${known}`, 'Run: foothold migrate')
  if (found > known) return ok('schema', `version ${found}, newer than this library's ${known} and compatible with it`)
  return ok('schema', `version ${found}`)
}

export function clockShiftCheck(seconds: number): Check[] {
  if (Math.abs(seconds) < 1) return []
  return [
    error(
      'schema clock',
      `foothold.clock() is ${Math.round(seconds)} s off the server's clock: a test has moved it`,
      "Run: create or replace function foothold.clock() returns timestamptz language sql volatile as 'select clock_timestamp()'",
    ),
  ]
}
