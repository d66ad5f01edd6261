import type { Logger } from '../protocol/foothold.ts'
import { cancelChildren, tellParents } from '../store/children.ts'
import type { LoadedTask } from '../store/claim.ts'
import type { Database } from '../store/database.ts'
import type { Notifier } from '../store/notify.ts'
import type { Settled } from './settlement.ts'

/**
 * What follows from a task's end for its parent and its children, at once. Where this is cut short, the maintenance of any
 * worker does it within a second (maintenance/children.ts).
 */
export async function tellKin(
  { db, notifier, logger }: { readonly db: Database; readonly notifier: Notifier; readonly logger: Logger },
  task: LoadedTask,
  { kind }: Settled,
): Promise<void> {
  if (kind !== 'completed' && kind !== 'cancelled' && kind !== 'dead_letter') return
  try {
    if (task.isChild) {
      const { handlers } = await tellParents(db, task.id, { doing: 'waking a parent', patienceMs: 0 })
      for (const handler of handlers) notifier.notify(handler)
    }
    if (kind === 'cancelled') await cancelChildren(db, task.id)
  } catch (error) {
    logger.debug({ task: task.id, error }, 'kin will be told by the next round')
  }
}
