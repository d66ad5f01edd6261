import type { DeadLetter, TaskContext } from 'foothold'
import type { Contact, SupportPorts } from '../ports.ts'
import { deliver, notify } from './delivery.ts'
import { languageOf, personWillAnswer } from './language.ts'
import { deadLetterHtml } from './notification.ts'
import { readable } from './readable-text.ts'

const CONTACT_TIMEOUT_MS = 5_000

/**
 * The follow-up of a request that failed for good: the client still gets an answer, in their language and at most one,
 * and a person is told. It needs neither the model nor the CRM: one of them may be why we are here.
 */
export async function answerDeadLetter(
  task: TaskContext,
  ports: SupportPorts,
  input: unknown,
  { id, reason, error }: DeadLetter,
): Promise<{ readonly replied: boolean }> {
  const { client, text, replyTo, locale } = whatIsThere(input)
  const language = languageOf(text, locale)
  const reply = personWillAnswer(language)
  const outcome = 'handed_to_person'
  const { stored } = await task.transaction('store', (sql) =>
    ports.answers.saveReplyOnce(sql, { taskId: id, clientId: client.id, language, outcome, request: text, reply }),
  )

  // An address that refused the answer would refuse this one as well.
  if (stored && !reason.startsWith('reply_')) {
    await deliver(task, ports, replyTo, { taskId: id, clientId: client.id, outcome, language, text: reply })
  }
  // A messenger that refused the task's own message would refuse this one: then the pager alone knows.
  if (!reason.startsWith('telegram_')) {
    const problem = error.message
    const html = deadLetterHtml({ taskId: id, client, request: text, reason, problem, wasAnswered: !stored })
    await notify(task, ports, await contactIfKnown(task, ports, client.id), html)
  }
  return { replied: stored }
}

interface Request {
  readonly client: { readonly id: string; readonly name: string | null }
  readonly text: string
  readonly replyTo: string | undefined
  readonly locale: string | undefined
}

/** A request that was submitted by name was not checked, and its shape may be the very reason why it failed. */
function whatIsThere(input: unknown): Request {
  const request = recordOf(input)
  const client = recordOf(request['client'])
  const { id } = client
  const isId = typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint'
  const locale = textOf(request['locale'])
  return {
    client: { id: isId ? readable(String(id)).trim().slice(0, 200) : 'unknown', name: textOf(client['name']) ?? null },
    text: textOf(request['text']) ?? '',
    replyTo: textOf(request['replyTo']),
    locale: locale !== undefined && /^[A-Za-z]{2,3}\b/.test(locale) ? locale : undefined,
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? readable(value).trim() : undefined
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
