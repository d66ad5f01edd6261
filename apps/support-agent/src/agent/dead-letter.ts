import type { DeadLetter, TaskContext } from 'foothold'
import type { Contact, SupportPorts } from '../ports.ts'
import { deliver, notify } from './delivery.ts'
import { languageOf, personWillAnswer } from './language.ts'
import { deadLetterHtml } from './notification.ts'
import { readable } from './readable-text.ts'
import type { SupportRequest } from './request.ts'

const CONTACT_TIMEOUT_MS = 5_000

/**
 * The follow-up of a request that failed for good: the client still gets an answer, in their language and at most one,
 * and a person is told. It needs neither the model nor the CRM: one of them may be why we are here.
 */
export async function answerDeadLetter(
  task: TaskContext,
  ports: SupportPorts,
  request: SupportRequest,
  { id, reason, error }: DeadLetter,
): Promise<{ readonly replied: boolean }> {
  const text = readable(request.text).trim()
  const language = languageOf(text, request.locale)
  const reply = personWillAnswer(language)
  const client = {
    id: request.client.id,
    name: request.client.name === undefined ? null : readable(request.client.name),
  }
  const outcome = 'handed_to_person'
  const { stored } = await task.transaction('store', (sql) =>
    ports.answers.saveReplyOnce(sql, { taskId: id, clientId: client.id, language, outcome, request: text, reply }),
  )

  const isAboutDelivery = reason.startsWith('reply_')
  if (stored && !isAboutDelivery) {
    await deliver(task, ports, request.replyTo, { taskId: id, clientId: client.id, outcome, language, text: reply })
  }
  // A messenger that refused the task's own message would refuse this one: then the pager alone knows.
  if (!reason.startsWith('telegram_')) {
    const html = deadLetterHtml({
      taskId: id,
      client,
      request: text,
      reason,
      problem: error.message,
      wasAnswered: !stored,
    })
    await notify(task, ports, await contactIfKnown(task, ports, client.id), html)
  }
  return { replied: stored }
}

/** The client's own manager where the CRM says it at once; the default chat otherwise. */
function contactIfKnown(task: TaskContext, { crm }: SupportPorts, clientId: string): Promise<Contact | null> {
  return task.step(
    'manager',
    async ({ signal }) => {
      try {
        return await crm.contact(clientId, AbortSignal.any([signal, AbortSignal.timeout(CONTACT_TIMEOUT_MS)]))
      } catch {
        signal.throwIfAborted()
        return null
      }
    },
    { timeoutMs: CONTACT_TIMEOUT_MS * 2 },
  )
}
