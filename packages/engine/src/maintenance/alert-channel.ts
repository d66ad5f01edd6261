import { randomUUID } from 'node:crypto'
import { monotonicMs } from '../lifecycle/clock.ts'
import { type Loop, startLoop } from '../lifecycle/service.ts'
import { alertPauseMs } from '../protocol/alert-pause.ts'
import type { AlertChannel, AlertContext, AlertMessage, MessageRef } from '../protocol/alerts.ts'
import { RetryError } from '../protocol/errors.ts'
import { failureOf } from '../protocol/failure.ts'
import type { Logger } from '../protocol/foothold.ts'
import { claimDelivery, type Delivery, storeDeliveryFailure, storeShown } from '../store/alert-deliveries.ts'
import { readAlertFacts } from '../store/alert-facts.ts'
import type { Database } from '../store/database.ts'
import { alertCommands } from './alert-commands.ts'

/** With the statements around it well inside the claim's lease of 30 s. */
const CALL_MS = 10_000
/** A process that was frozen after its claim must not send: somebody else may have. */
const CLAIM_FRESH_MS = 15_000
/** A call under way when the worker begins to stop may end; the claim of one that does not runs out by itself. */
const LAST_CALL_MS = 1_000

interface AlertSender {
  readonly db: Database
  readonly channel: AlertChannel
  readonly logger: Logger
  readonly onError: (error: unknown) => void
}

/** Shows groups in one channel, one call after the other; sleeps until it is woken. */
export function startAlertChannel(sender: AlertSender): Loop {
  return startLoop({
    name: `alert channel ${sender.channel.name}`,
    next: () => null,
    onError: sender.onError,
    async run(stopping) {
      while (!stopping.aborted) {
        const claimedAtMs = monotonicMs()
        const delivery = await claimDelivery(sender.db, sender.channel.name, randomUUID())
        if (delivery === null) return
        await deliver(sender, delivery, { claimedAtMs, stopping })
      }
    },
  })
}

async function deliver(
  sender: AlertSender,
  delivery: Delivery,
  { claimedAtMs, stopping }: { readonly claimedAtMs: number; readonly stopping: AbortSignal },
): Promise<void> {
  const { db, channel, logger } = sender
  const facts = await readAlertFacts(db, delivery.groupId)
  if (facts === null) return
  const message = { ...facts, commands: alertCommands(facts) }
  const about = { channel: channel.name, group: message.id, agent: message.agent, reason: message.reason }
  let messageRef: MessageRef
  try {
    if (monotonicMs() - claimedAtMs > CLAIM_FRESH_MS) throw new RetryError('its claim is too old to send under')
    messageRef = await call(channel, delivery, message, stopping)
  } catch (error) {
    const failure = failureOf(error)
    const { failures, messageRef: earlier } = delivery
    const pauseMs = alertPauseMs(failure, { failures, isFirstMessage: earlier === null })
    logger[failure.retryable ? 'warn' : 'error']({ ...about, failures: failures + 1, pauseMs, error }, 'alert not sent')
    await storeDeliveryFailure(db, delivery, channel.name, { ...failure, pauseMs })
    return
  }
  const isStored = await storeShown(db, delivery, channel.name, messageRef)
  const { tasks, status } = message
  logger.info({ ...about, tasks: tasks.total, standing: tasks.standing, status, isStored }, 'alert sent')
}

/** Bounded whatever the channel's code does; one that is not heard of in time may have sent. */
async function call(
  channel: AlertChannel,
  { messageRef, doubts }: Delivery,
  message: AlertMessage,
  stopping: AbortSignal,
): Promise<MessageRef> {
  const limit = new AbortController()
  const end = (): void => limit.abort(new Error(`the channel did not answer within its time`))
  const timers = [setTimeout(end, CALL_MS)]
  const hurry = (): void => void timers.push(setTimeout(end, LAST_CALL_MS))
  stopping.addEventListener('abort', hurry, { once: true })
  const ended = new Promise<never>((_, reject) => {
    limit.signal.addEventListener('abort', () => reject(limit.signal.reason as Error), { once: true })
  })
  try {
    const context: AlertContext = { signal: limit.signal, mayBeRepeated: messageRef === null && doubts > 1 }
    const calling = messageRef === null ? channel.send(message, context) : channel.update(messageRef, message, context)
    return await Promise.race([calling, ended])
  } finally {
    stopping.removeEventListener('abort', hurry)
    for (const timer of timers) clearTimeout(timer)
  }
}
