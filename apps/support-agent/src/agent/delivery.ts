import { type TaskContext, TerminalError } from 'foothold'
import type { CallbackBody, Contact, Messenger, Sent, SupportPorts } from '../ports.ts'

const DELIVERY_TIMEOUT_MS = 15_000

/**
 * Sends the stored reply to the address of the request. Nobody can be asked whether a lost answer meant "received", so it
 * is sent again with the same Idempotency-Key: at least once, and once for a receiver that looks at the key.
 */
export async function deliver(
  task: TaskContext,
  { callbacks }: SupportPorts,
  replyTo: string | undefined,
  body: CallbackBody,
): Promise<void> {
  if (replyTo === undefined) return
  await task.effect('reply', {
    request: { url: replyTo, body },
    timeoutMs: DELIVERY_TIMEOUT_MS,
    onDoubt: 'repeat',
    send: (request, { idempotencyKey, signal }) => callbacks.post(request.url, request.body, idempotencyKey, signal),
  })
}

/** Pauses one after another; more of them is a limit that will not lift, and a person must look. */
const PAUSES_MAX = 5

/** One effect per piece, in order: a piece that was sent is not sent again because a later one failed. */
export async function notify(
  task: TaskContext,
  { messenger }: SupportPorts,
  contact: Contact | null,
  html: string,
): Promise<void> {
  const chatId = contact?.manager?.chatId ?? messenger.defaultChatId
  if (chatId === null) return
  for (const [index, part] of messenger.parts(html).entries()) {
    await sendPart(task, messenger, index === 0 ? 'notify' : `notify:${index + 1}`, { chatId, html: part })
  }
}

/** A long pause is a durable sleep: it holds no slot, survives restarts and does not count as working time. */
async function sendPart(
  task: TaskContext,
  messenger: Messenger,
  key: string,
  request: { readonly chatId: string; readonly html: string },
): Promise<void> {
  for (let pause = 0; ; pause += 1) {
    const sent = await task.effect<typeof request, Sent>(pause === 0 ? key : `${key}:after-pause:${pause}`, {
      request,
      timeoutMs: DELIVERY_TIMEOUT_MS,
      onDoubt: 'repeat',
      send: ({ chatId, html }, { signal }) => messenger.send(chatId, html, signal),
    })
    if (sent.kind === 'sent') return
    if (pause === PAUSES_MAX) {
      throw new TerminalError(`the messenger asked for ${PAUSES_MAX} long pauses in a row`, {
        reason: 'telegram_rejected',
      })
    }
    await task.sleep(`${key}:pause:${pause + 1}`, sent.afterMs)
  }
}
