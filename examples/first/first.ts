import { agent, connect } from 'foothold'
import { z } from 'zod'
import { crm, history, model } from './services.ts'

const support = agent({
  name: 'support',
  input: z.object({ client: z.string(), text: z.string() }),
  async run(task, { client, text }) {
    const known = await task.step('retrieve', () => history.of(client))
    const ticket = await task.effect('tool_call:ticket', {
      request: { client, text },
      send: (request, { idempotencyKey }) => crm.openTicket(request, idempotencyKey),
      keyWindowMs: 86_400_000, // the CRM keeps keys for a day: one ticket, whatever dies
    })
    return task.step('generate', ({ emit }) => model.answer({ text, known, ticket }, (piece) => emit('answer', piece)))
  },
})

const foothold = await connect(process.env['DATABASE_URL'])
await foothold.submit(support, { client: '101', text: 'Где мой заказ 5501?' }, { dedupeKey: 'mail-5501' })
await foothold.worker({ agents: [support] }).run() // until SIGTERM, then hands over what is under way
