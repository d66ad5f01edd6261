import { cleanMessage } from '../protocol/codec.ts'
import { checkKey, checkName } from '../protocol/names.ts'
import { PAUSE_KINDS, type PauseAnswer, type PauseKind, type PauseTarget } from '../protocol/pauses.ts'
import type { Database } from '../store/database.ts'
import { announcePauses, isKnownHere, removePause, renewDeadlines, storePause } from '../store/pauses.ts'
import { checkOneTarget, checkOptionNames, checkText } from './arguments.ts'

/** Shown in lists. */
const REASON_CHARACTERS_MAX = 500

export async function pause(
  db: Database,
  target: PauseTarget,
  options: { readonly reason?: string | undefined; readonly by?: string | undefined },
): Promise<PauseAnswer> {
  const { kind, value } = checkedTarget(target)
  checkOptionNames('options', options, ['reason', 'by'])
  if (options.reason !== undefined) checkText('options.reason', options.reason)
  if (options.by !== undefined) checkKey('options.by', options.by)
  const reason = options.reason === undefined ? null : cleanMessage(options.reason, REASON_CHARACTERS_MAX)
  const stored = await storePause(db, { kind, value, reason, by: options.by ?? null })
  await announce(db)
  return { ...stored, isKnown: await isKnownHere(db, kind, value) }
}

export async function unpause(db: Database, target: PauseTarget): Promise<{ readonly wasPaused: boolean }> {
  const { kind, value } = checkedTarget(target)
  await renewDeadlines(db, kind, value)
  const wasPaused = await removePause(db, kind, value)
  await announce(db)
  return { wasPaused }
}

function checkedTarget(target: PauseTarget): { readonly kind: PauseKind; readonly value: string } {
  const { kind, value } = checkOneTarget<PauseKind>(target, PAUSE_KINDS)
  if (kind === 'agent') checkName('target.agent', value)
  else checkKey(`target.${kind}`, value)
  return { kind, value }
}

async function announce(db: Database): Promise<void> {
  try {
    await announcePauses(db, { doing: 'announcing a pause', patienceMs: 0 })
  } catch {
    // An accelerator only: every worker asks by itself within a second.
  }
}
