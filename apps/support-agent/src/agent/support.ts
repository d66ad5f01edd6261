import { generate } from '@foothold/models'
import { type Agent, agent, type TaskContext } from 'foothold'
import type { Contact, SupportPorts } from '../ports.ts'
import { readAttachments } from './attachments.ts'
import { answerDeadLetter } from './dead-letter.ts'
import { deliver, notify } from './delivery.ts'
import { languageOf, personWillAnswer, primary } from './language.ts'
import { notificationHtml } from './notification.ts'
import { observed } from './observed-task.ts'
import type { Outcome } from './outcome.ts'
import { PLAN_JSON_SCHEMA, type Plan, planSchema } from './plan.ts'
import { type PromptContext, planPrompt, replyPrompt, type ToolResult } from './prompts.ts'
import { readable } from './readable-text.ts'
import { SupportRequest } from './request.ts'
import { runCall } from './tool-calls.ts'
import { verify } from './verify.ts'

export interface SupportAnswer {
  readonly outcome: Outcome
  readonly language: string
  /** What the client is told. */
  readonly reply: string
  readonly ticketId: string | null
  /** Why the model's own words were not used. */
  readonly problems: readonly string[]
}

export type SupportAgent = Agent<'support', SupportRequest, SupportAnswer>

const RECALL_TIMEOUT_MS = 30_000

export function supportAgent(ports: SupportPorts): SupportAgent {
  const { onStepDone = () => undefined, deadlineMs } = ports
  return agent({
    name: 'support',
    reasons: ['telegram_unavailable', 'telegram_rejected', 'reply_unavailable', 'reply_rejected'],
    input: SupportRequest,
    deadlineMs,

    async run(given, request): Promise<SupportAnswer> {
      const task = observed(given, onStepDone)
      const { context, contact } = await retrieve(task, ports, request)
      const plan = await makePlan(task, ports, context)
      const language = primary(request.locale ?? plan.language)
      const results = await Promise.all(
        plan.calls.map((call) => runCall(task, ports.crm, { id: request.client.id, contact }, call)),
      )

      const { draft, problems } = await writeReply(task, ports, context, language, results)
      const outcome: Outcome = problems.length === 0 ? 'answered' : 'handed_to_person'
      const reply = outcome === 'answered' ? draft : personWillAnswer(language)

      const { client } = context
      await task.transaction('store', (sql) =>
        ports.answers.save(sql, {
          taskId: task.id,
          clientId: client.id,
          language,
          outcome,
          request: context.text,
          draft,
          problems,
          reply,
        }),
      )
      await deliver(task, ports, request.replyTo, {
        taskId: task.id,
        clientId: client.id,
        outcome,
        language,
        text: reply,
      })
      const html = notificationHtml({
        taskId: task.id,
        client,
        contact,
        request: context.text,
        reply,
        outcome,
        results,
        problems,
      })
      await notify(task, ports, contact, html)
      return { outcome, language, reply, ticketId: ticketIdOf(results), problems }
    },

    onDeadLetter: (task, request, deadLetter) =>
      answerDeadLetter(observed(task, onStepDone), ports, request, deadLetter),
  })
}

interface Retrieved {
  readonly context: PromptContext
  readonly contact: Contact | null
}

/** Everything that the request is answered from, read once: files as text, memory, and who the client is. */
function retrieve(task: TaskContext, ports: SupportPorts, request: SupportRequest): Promise<Retrieved> {
  return task.step(
    'retrieve',
    async ({ signal }): Promise<Retrieved> => {
      const attachments = readAttachments(request.attachments)
      const text = readable(request.text).trim()
      const query = [text, ...attachments.map((a) => a.text)].join('\n')
      const [recollection, contact] = await Promise.all([
        ports.memory.recall(request.client.id, query, { signal }),
        ports.crm.contact(request.client.id, signal),
      ])
      const name = request.client.name === undefined ? (contact?.name ?? null) : readable(request.client.name)
      return { context: { text, attachments, client: { id: request.client.id, name }, recollection }, contact }
    },
    { timeoutMs: RECALL_TIMEOUT_MS },
  )
}

function makePlan(task: TaskContext, { model }: SupportPorts, context: PromptContext): Promise<Plan> {
  const { text, attachments, recollection } = context
  const named = [
    text,
    ...attachments.flatMap((a) => [a.name, a.text]),
    ...recollection.history.flatMap((e) => [e.request, e.answer]),
  ].join('\n')
  return generate(task, 'plan', {
    model,
    ...planPrompt(context),
    schema: planSchema(named),
    jsonSchema: PLAN_JSON_SCHEMA,
    temperature: 0.1,
  })
}

/** The draft is checked against its sources; one more try with what was wrong, then a person takes over. */
async function writeReply(
  task: TaskContext,
  { model }: SupportPorts,
  context: PromptContext,
  declared: string,
  results: readonly ToolResult[],
): Promise<{ draft: string; problems: string[] }> {
  const language = declared === '' ? languageOf(context.text, undefined) : declared
  const options = { model, stream: true, temperature: 0.3 }
  const first = await generate(task, 'generate', { ...options, ...replyPrompt(context, language, results) })
  const problems = await task.step('verify', () => verify({ draft: first, language, context, results }))
  if (problems.length === 0) return { draft: readable(first).trim(), problems }

  const second = await generate(task, 'generate:2', {
    ...options,
    ...replyPrompt(context, language, results, problems),
  })
  const left = await task.step('verify:2', () => verify({ draft: second, language, context, results }))
  return { draft: readable(second).trim(), problems: left }
}

function ticketIdOf(results: readonly ToolResult[]): string | null {
  const ticket = results.find(({ call, outcome }) => call.name === 'create_ticket' && outcome === 'done')
  return ticket === undefined ? null : (ticket.result as { readonly ticket_id: string }).ticket_id
}
