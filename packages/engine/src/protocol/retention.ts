import { FootholdError } from './errors.ts'

/** How long what has ended is kept, in days; Infinity is for ever. Of workers with different settings the shortest counts. */
export interface Retention {
  /** Completed and cancelled tasks with all that belongs to them. Default 30. */
  readonly endedDays?: number | undefined
  /** Dead letters, which a person may still resume. Default Infinity. */
  readonly deadLetterDays?: number | undefined
  /** What steps of completed and cancelled tasks emitted. Default 1. */
  readonly chunkDays?: number | undefined
  /** Workers that have stopped or were lost. Default 7. */
  readonly workerDays?: number | undefined
}

export type RetentionDays = { readonly [Name in keyof Retention]-?: number }

const DEFAULTS: RetentionDays = { endedDays: 30, deadLetterDays: Infinity, chunkDays: 1, workerDays: 7 }
/** A hundred years: PostgreSQL's time ends somewhere. */
const DAYS_MAX = 36_500

/** @throws INVALID_ARGUMENT */
export function retentionDays(field: string, given: Retention = {}): RetentionDays {
  if (typeof given !== 'object' || given === null) {
    throw new FootholdError('INVALID_ARGUMENT', { field, problem: 'it is not an object' })
  }
  const days: Record<string, number> = { ...DEFAULTS }
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULTS, name)) {
      throw new FootholdError('INVALID_ARGUMENT', {
        field: `${field}.${name.slice(0, 100)}`,
        problem: 'there is no such option',
        cure: `Known: ${Object.keys(DEFAULTS).join(', ')}.`,
      })
    }
    if (value === undefined) continue
    if (!(typeof value === 'number' && ((value >= 0 && value <= DAYS_MAX) || value === Infinity))) {
      throw new FootholdError('INVALID_ARGUMENT', {
        field: `${field}.${name}`,
        problem: `${typeof value === 'number' ? value : `a value of type ${typeof value}`} is not a number of days from 0 to ${DAYS_MAX}`,
        cure: 'Use Infinity to keep them for ever.',
      })
    }
    days[name] = value
  }
  return days as RetentionDays
}

/** Rows that were removed, or would be. */
export interface PruneReport {
  /** Of these tasks also the inputs and outputs, steps, attempts, signals, chunks and alerts. */
  readonly tasks: number
  readonly chunks: number
  readonly dedupeKeys: number
  readonly workers: number
  readonly alertGroups: number
}
