/** What the example needs from outside, without accounts: put your own here. */

export const history = {
  of: (client: string): readonly string[] => [`Клиент ${client}: заказ 5501 передан курьеру`],
}

const tickets = new Map<string, { readonly id: number }>()

export const crm = {
  /** Like a CRM that keeps idempotency keys: the same key is the same ticket. */
  async openTicket(_request: { readonly client: string; readonly text: string }, key: string) {
    const ticket = tickets.get(key) ?? { id: 7001 + tickets.size }
    tickets.set(key, ticket)
    return ticket
  },
}

export const model = {
  async answer(
    {
      known,
      ticket,
    }: { readonly text: string; readonly known: readonly string[]; readonly ticket: { readonly id: number } },
    onPiece: (piece: string) => void,
  ): Promise<string> {
    const pieces = ['Здравствуйте! ', ...known.map((fact) => `${fact}. `), `Обращение № ${ticket.id}.`]
    for (const piece of pieces) onPiece(piece)
    return pieces.join('')
  },
}
