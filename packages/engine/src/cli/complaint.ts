import { isFootholdError } from '../protocol/errors.ts'
import { sqlState } from '../store/sqlstate.ts'
import { MissingPackageError } from './optional-package.ts'
import { plainLine } from './plain-text.ts'
import { suggest } from './suggest.ts'
import { UsageError } from './usage-error.ts'

/** What went wrong, for a person and for a program. */
export interface Complaint {
  readonly code: string
  readonly message: string
  /** What to do about it, where that is known. */
  readonly cure: string | null
}

export function complaintOf(error: unknown): Complaint {
  const said = sayingOf(error)
  return { code: said.code, message: clean(said.message), cure: said.cure === null ? null : clean(said.cure) }
}

function sayingOf(error: unknown): Complaint {
  if (error instanceof UsageError) {
    const help = error.command === '' ? 'foothold --help' : `foothold ${error.command} --help`
    return { code: 'USAGE', message: error.message, cure: `See ${help}` }
  }
  if (error instanceof MissingPackageError) {
    return { code: 'PACKAGE_MISSING', message: error.message, cure: `Run: npm install --save-dev ${error.package}` }
  }
  if (isFootholdError(error)) {
    const cause = causeOf(error)
    return {
      code: error.code,
      message: cause === '' ? error.message : `${error.message} ${cause}`,
      cure: cureOf(error),
    }
  }
  const state = sqlState(error)
  if (state !== null) {
    return { code: state, message: `PostgreSQL refused: ${messageOf(error)}`, cure: CURES[state] ?? null }
  }
  // Neither ours nor the server's: a defect, which shows where it is.
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { code: 'UNEXPECTED', message: stack, cure: null }
}

const CURES: Readonly<Record<string, string>> = {
  '28P01': 'Check the user and the password in --url or DATABASE_URL.',
  '28000': 'Check the user in --url or DATABASE_URL, and pg_hba.conf of the server.',
  '3D000': 'Create the database, or name another one in --url or DATABASE_URL.',
  '42501': 'The role of --url or DATABASE_URL lacks a right: ask the owner of the schema to grant it.',
}

function cureOf(error: unknown): string | null {
  if (isFootholdError(error, 'DATABASE_URL_MISSING')) return 'Or pass --url.'
  if (isFootholdError(error, 'SCHEMA_MISSING')) return 'Run: foothold migrate'
  if (isFootholdError(error, 'TASK_NOT_FOUND')) return 'Newest tasks: foothold tasks list'
  if (isFootholdError(error, 'STEP_NOT_FOUND')) {
    const { key, known } = error.details
    const meant = suggest(key, known)
    return meant === null ? null : `Did you mean ${JSON.stringify(meant)}?`
  }
  return null
}

function causeOf({ cause }: { readonly cause?: unknown }): string {
  return cause === undefined || cause === null ? '' : `(${messageOf(cause)})`
}

/** A refused connection is an AggregateError whose own message is empty. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '' && error.errors.length > 0) {
    return messageOf(error.errors[0])
  }
  return error instanceof Error ? error.message : String(error)
}

/** Lines of a stack stay lines; connection URLs reach messages with their passwords. */
function clean(text: string): string {
  return text
    .split('\n')
    .map(plainLine)
    .join('\n')
    .replace(/(:\/\/[^\s:@/"]*:)[^\s@/"]+@/g, '$1***@')
}
