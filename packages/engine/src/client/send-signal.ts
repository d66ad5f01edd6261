import type { Signal } from '../protocol/agent.ts'
import { encode } from '../protocol/codec.ts'
import { FootholdError } from '../protocol/errors.ts'
import { checkKey, checkName } from '../protocol/names.ts'
import { checkBySchema } from '../protocol/schema-check.ts'
import type { Database } from '../store/database.ts'
import type { Notifier } from '../store/notify.ts'
import { readRefusal, storeSignal } from '../store/signals-in.ts'
import { checkOptionNames } from './arguments.ts'
import { newTaskId } from './new-id.ts'
import { conflict, requireId } from './steer.ts'

export async function sendSignal(
  { db, notifier }: { readonly db: Database; readonly notifier: Notifier },
  taskId: string,
  signal: Signal<never>,
  payload: unknown,
  options: { readonly dedupeKey?: string | undefined },
): Promise<void> {
  checkOptionNames('options', options, ['dedupeKey'])
  if (options.dedupeKey !== undefined) checkKey('options.dedupeKey', options.dedupeKey)
  checkName('signal.name', signal.name)
  const id = requireId(taskId)
  const checked = await checkBySchema(signal.schema, payload)
  if (checked.kind === 'invalid') {
    throw new FootholdError('INVALID_ARGUMENT', {
      field: 'payload',
      problem: `it does not fit signal ${signal.name}: ${checked.issues.map((i) => (i.path === '' ? i.message : `${i.path}: ${i.message}`)).join('; ')}`,
    })
  }
  const insert = {
    taskId: id,
    name: signal.name,
    payload: encode(checked.value, 'payload'),
    // One of our own where none is given, so that the statement can be repeated.
    dedupeKey: options.dedupeKey ?? `once:${newTaskId()}`,
  }
  const stored = await storeSignal(db, insert)
  if (stored !== null) {
    if (stored.isPending) notifier.notify(stored.handler)
    return
  }
  const refusal = await readRefusal(db, insert)
  if (refusal === null) throw new FootholdError('TASK_NOT_FOUND', { taskId })
  if (!refusal.isStored) throw conflict(id, refusal.status, 'a task that has ended takes no signal')
}
