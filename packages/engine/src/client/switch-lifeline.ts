import { cleanMessage } from '../protocol/codec.ts'
import { FootholdError } from '../protocol/errors.ts'
import type { LifelineSwitch } from '../protocol/foothold.ts'
import { checkKey } from '../protocol/names.ts'
import type { Database } from '../store/database.ts'
import { readLifelineSwitch, removeLifelineOff, storeLifelineOff } from '../store/lifeline.ts'
import { checkOptionNames, checkText } from './arguments.ts'

/** Shown in lists. */
const REASON_CHARACTERS_MAX = 500

export async function switchLifeline(
  db: Database,
  to: 'on' | 'off',
  options: { readonly reason?: string | undefined; readonly by?: string | undefined },
): Promise<LifelineSwitch> {
  if (to !== 'on' && to !== 'off') {
    throw new FootholdError('INVALID_ARGUMENT', { field: 'to', problem: `${JSON.stringify(to)} is none of on, off` })
  }
  checkOptionNames('options', options, ['reason', 'by'])
  if (options.reason !== undefined) checkText('options.reason', options.reason)
  if (options.by !== undefined) checkKey('options.by', options.by)
  const reason = options.reason === undefined ? null : cleanMessage(options.reason, REASON_CHARACTERS_MAX)
  if (to === 'on') await removeLifelineOff(db)
  else await storeLifelineOff(db, { reason, by: options.by ?? null })
  return readLifelineSwitch(db)
}
