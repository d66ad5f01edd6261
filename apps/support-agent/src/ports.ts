import type { EmbeddingModel, LlmModel } from '@foothold/models'
import type { Queryable } from 'foothold'
import type { StepDone } from './agent/observed-task.ts'
import type { Outcome } from './agent/outcome.ts'

/** What the agent asks of the world. The integrations implement it, main.ts joins the two. */
export interface SupportPorts {
  readonly model: LlmModel
  readonly memory: Memory
  readonly crm: Crm
  readonly messenger: Messenger
  readonly callbacks: Callbacks
  readonly answers: Answers
  /** How long a request is tried, waits for a service included. Default: the engine's, 15 minutes. */
  readonly deadlineMs?: number | undefined
  /** Told of every step that was run and stored, for the log. */
  readonly onStepDone?: ((done: StepDone) => void) | undefined
}

export type { EmbeddingModel, LlmModel }

/** One earlier request of the same client and what was answered. */
export interface Exchange {
  readonly request: string
  readonly answer: string
  readonly at: string
}

export interface Article {
  readonly title: string
  readonly text: string
}

export interface Recollection {
  readonly history: readonly Exchange[]
  readonly knowledge: readonly Article[]
}

export interface Memory {
  recall(clientId: string, query: string, options: { readonly signal: AbortSignal }): Promise<Recollection>
}

/** Ids are digits in a string: CRM ids pass 2^53, where a number would be rounded. */
export interface Order {
  readonly number: string
  readonly title: string
  readonly status: string
  readonly amount: string | null
  readonly currency: string | null
  readonly deliveryDate: string | null
}

export interface Ticket {
  readonly ticketId: string
}

export interface NewTicket {
  /** As our own channels know the client; for the text of the ticket. */
  readonly clientId: string
  /** The CRM's contact; null when it has none, because a CRM refuses a ticket for a contact it does not know. */
  readonly contactId: string | null
  readonly subject: string
  readonly description: string
  readonly orderId: string | null
}

export interface Contact {
  readonly id: string
  readonly name: string | null
  readonly manager: { readonly name: string | null; readonly chatId: string | null } | null
}

export interface Crm {
  /** Set when the CRM honours Idempotency-Key: for how long it remembers one. */
  readonly keyWindowMs: number | null
  /** How long a created record may stay invisible to a search. */
  readonly findLagMs: number
  /** Null: there is no such contact. */
  contact(clientId: string, signal: AbortSignal): Promise<Contact | null>
  /** Null: there is no such order. */
  order(number: string, signal: AbortSignal): Promise<Order | null>
  createTicket(ticket: NewTicket, idempotencyKey: string, signal: AbortSignal): Promise<Ticket>
  findTicket(idempotencyKey: string, signal: AbortSignal): Promise<Ticket | null>
}

/** A message to a person of ours, in the messenger's HTML. */
export interface Messenger {
  /** Used where the client has no manager with a chat. */
  readonly defaultChatId: string | null
  /** Cuts a message into pieces that are each accepted; tags are closed and opened again. */
  parts(html: string): readonly string[]
  send(chatId: string, html: string, signal: AbortSignal): Promise<Sent>
}

/** `later`: the messenger asks for a pause too long to hold the step open; nothing was sent. */
export type Sent =
  | { readonly kind: 'sent'; readonly messageId: string }
  | { readonly kind: 'later'; readonly afterMs: number }

export interface CallbackBody {
  readonly taskId: string
  readonly clientId: string
  readonly outcome: Outcome
  readonly language: string
  readonly text: string
}

/** Delivers a reply to the address that the request named. */
export interface Callbacks {
  post(
    url: string,
    body: CallbackBody,
    idempotencyKey: string,
    signal: AbortSignal,
  ): Promise<{ readonly status: number }>
}

export interface Answer {
  readonly taskId: string
  readonly clientId: string
  readonly language: string
  readonly outcome: Outcome
  readonly request: string
  /** The model's words, also where the client was told something else. */
  readonly draft: string
  readonly problems: readonly string[]
  /** What the client is told. */
  readonly reply: string
}

/** The app's own tables, written inside the engine's transaction. Every text is well-formed and without U+0000. */
export interface Answers {
  /** Stores the answer, the exchange and the task's one reply. */
  save(sql: Queryable, answer: Answer): Promise<void>
  /** Stores the reply unless the task has one; says which reply stands now. */
  saveReplyOnce(sql: Queryable, reply: Omit<Answer, 'draft' | 'problems'>): Promise<{ readonly stored: boolean }>
}
