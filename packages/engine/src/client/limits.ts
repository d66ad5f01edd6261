import { FootholdError } from '../protocol/errors.ts'
import {
  EACH,
  LIMIT_KINDS,
  type LimitKind,
  type LimitOptions,
  type LimitTarget,
  type Rate,
} from '../protocol/limits.ts'
import { checkKey, checkName } from '../protocol/names.ts'
import type { Database } from '../store/database.ts'
import { removeLimit, storeLimit } from '../store/limits.ts'
import { checkOneTarget, checkOptionNames, checkWholeNumber } from './arguments.ts'

const CONCURRENCY_MAX = 1_000_000
/** The time of each start in the last period is kept on one row. */
const RATE_MAX = 1_000
/** A day. */
const PERIOD_MS_MAX = 86_400_000

export async function setLimit(db: Database, target: LimitTarget, options: LimitOptions): Promise<void> {
  const { kind, value } = checkedTarget(target)
  checkOptionNames('options', options, ['concurrency', 'rate', 'by'])
  const { concurrency, rate, by } = options
  if (concurrency !== undefined) {
    checkWholeNumber('options.concurrency', concurrency, { min: 1, max: CONCURRENCY_MAX })
  }
  if (rate !== undefined) checkRate(rate, value)
  if (by !== undefined) checkKey('options.by', by)
  if (concurrency === undefined && rate === undefined) {
    throw new FootholdError('INVALID_ARGUMENT', {
      field: 'options',
      problem: 'neither concurrency nor rate is given',
      cure: 'Give one of them or both; removeLimit ends a limit, and pause stops what must not run at all.',
    })
  }
  await storeLimit(db, {
    kind,
    value,
    concurrency: concurrency ?? null,
    rate: rate?.count ?? null,
    periodMs: rate?.periodMs ?? null,
    by: by ?? null,
  })
}

export async function endLimit(db: Database, target: LimitTarget): Promise<{ readonly wasLimited: boolean }> {
  const { kind, value } = checkedTarget(target)
  return { wasLimited: await removeLimit(db, kind, value) }
}

function checkRate(rate: Rate, value: string): void {
  checkOptionNames('options.rate', rate, ['count', 'periodMs'])
  checkWholeNumber('options.rate.count', rate.count, { min: 1, max: RATE_MAX })
  checkWholeNumber('options.rate.periodMs', rate.periodMs, { min: 1, max: PERIOD_MS_MAX })
  if (value !== EACH) return
  throw new FootholdError('INVALID_ARGUMENT', {
    field: 'options.rate',
    problem: 'the target is each one',
    cure: 'Give a rate to one agent, tenant or key by its name; each one can have a concurrency.',
  })
}

function checkedTarget(target: LimitTarget): { readonly kind: LimitKind; readonly value: string } {
  const { kind, value } = checkOneTarget<LimitKind>(target, LIMIT_KINDS)
  if (kind === 'agent' && value !== EACH) checkName('target.agent', value)
  else checkKey(`target.${kind}`, value)
  return { kind, value }
}
