import { agent, TerminalError } from 'foothold'
import { z } from 'zod'

const DAY_MS = 86_400_000

/** The long part of what POST /tasks of service.py accepts; each step that acts calls the service with its key. */
export function orderAgent(serviceUrl: string) {
  const post = caller(serviceUrl)
  return agent({
    name: 'order',
    input: z.object({ row: z.number(), client: z.string(), request: z.string() }),

    async run(task, { row, client, request }) {
      const { price } = await task.step('quote', async ({ signal }) =>
        Quote.parse(await post('/quote', { request }, { signal })),
      )
      const { number } = await task.effect('book', {
        request: { row, price, request },
        // The service keeps its ledger for good; a month is more than any task takes.
        keyWindowMs: 30 * DAY_MS,
        send: async (body, context) => Booked.parse(await post('/book', body, context)),
      })
      await task.effect('notify', {
        request: { row, text: `${client}: ${number}, ${price} ₽` },
        keyWindowMs: 30 * DAY_MS,
        send: (body, context) => post('/notify', body, context),
      })
      // The service's row and this step commit together: it is never done without having been done, nor done twice.
      await task.transaction('write back', (sql) =>
        sql
          .query(`update shop.tasks set status = 'done', result = $2, error = null, ended_at = now() where id = $1`, [
            row,
            JSON.stringify({ number, price }),
          ])
          .then(() => null),
      )
      return { number, price }
    },

    /** A task of its own, made in the dead letter's transaction, whoever makes it: the row ends, whatever happens. */
    async onDeadLetter(task, { row }, { error }) {
      await task.transaction('write back', (sql) =>
        sql
          .query(
            `update shop.tasks set status = 'failed', error = $2, ended_at = now() where id = $1 and status <> 'done'`,
            [row, error.message],
          )
          .then(() => null),
      )
    },
  })
}

const Quote = z.object({ price: z.number() })
const Booked = z.object({ number: z.string() })

interface Call {
  readonly signal: AbortSignal
  readonly idempotencyKey?: string
}

function caller(serviceUrl: string) {
  return async (path: string, body: object, { signal, idempotencyKey }: Call): Promise<z.core.util.JSONType> => {
    const answer = await fetch(new URL(path, serviceUrl), {
      method: 'POST',
      signal,
      headers: {
        'content-type': 'application/json',
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: JSON.stringify(body),
    })
    // A refusal says that nothing was done; of anything else nobody knows, and the same is asked again.
    if (answer.status >= 400 && answer.status < 500) throw new TerminalError(`${path} refused: ${await answer.text()}`)
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
    return (await answer.json()) as z.core.util.JSONType
  }
}
