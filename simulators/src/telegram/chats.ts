export type ChatState =
  | { readonly kind: 'open' }
  /** The person has blocked the bot. */
  | { readonly kind: 'blocked' }
  /** The group became a supergroup of another id. */
  | { readonly kind: 'migrated'; readonly toChatId: string }

export interface Message {
  readonly id: number
  readonly chatId: string
  readonly date: number
  readonly text: string
  /** As it was sent, before parsing: what "not modified" compares. */
  readonly source: string
}

/** The chats that the bot knows and the messages in them. */
export class Chats {
  readonly #chats = new Map<string, ChatState>()
  readonly #messages = new Map<string, Message>()
  readonly #known: readonly string[]
  #lastMessageId = 0

  constructor(known: readonly string[]) {
    this.#known = known
    this.reset()
  }

  state(chatId: string): ChatState | undefined {
    return this.#chats.get(chatId)
  }

  put(chatId: string, state: ChatState): void {
    this.#chats.set(chatId, state)
  }

  remove(chatId: string): boolean {
    return this.#chats.delete(chatId)
  }

  list(): { chatId: string; state: ChatState }[] {
    return [...this.#chats].map(([chatId, state]) => ({ chatId, state }))
  }

  messages(): Message[] {
    return [...this.#messages.values()]
  }

  message(chatId: string, messageId: string): Message | undefined {
    return this.#messages.get(`${chatId}/${messageId}`)
  }

  add(chatId: string, text: string, source: string): Message {
    this.#lastMessageId += 1
    const message = { id: this.#lastMessageId, chatId, date: Math.floor(Date.now() / 1000), text, source }
    this.#messages.set(`${chatId}/${message.id}`, message)
    return message
  }

  edit(message: Message, text: string, source: string): Message {
    const edited = { ...message, text, source }
    this.#messages.set(`${message.chatId}/${message.id}`, edited)
    return edited
  }

  reset(): void {
    this.#chats.clear()
    this.#messages.clear()
    this.#lastMessageId = 0
    for (const chatId of this.#known) this.#chats.set(chatId, { kind: 'open' })
  }
}
