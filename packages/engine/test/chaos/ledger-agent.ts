import pg from 'pg'
import { z } from 'zod'
import { type Agent, agent } from '../../src/index.ts'

/**
 * Five steps of every kind. The outside world is a table without any of the engine's guards: each execution of a step,
 * and each record a receiver made, is a row of its own.
 */
export const LEDGER = `
  create table ledger (id bigserial primary key, task text not null, what text not null, key text, worker text not null);
  create table replies (task text primary key, text text not null)`

export interface LedgerAgentOptions {
  /** The receiver keeps idempotency keys, or can only be asked whether it has the record. */
  readonly receiver: 'keys' | 'find'
  /** Milliseconds a step takes; long enough to be interrupted. */
  readonly pauseMs?: number
  /** The one step that takes so long. Default: each. */
  readonly pauseAt?: 'generate'
  readonly onStep?: (name: string) => void
}

export function ledgerAgent(url: string, options: LedgerAgentOptions): Agent<'ledger', unknown, string> {
  const pool = new pg.Pool({ connectionString: url, max: 5, allowExitOnIdle: true })
  pool.on('error', () => undefined)
  const worker = String(process.pid)
  const note = async (task: string, what: string, key: string | null = null): Promise<void> => {
    await pool.query('insert into ledger (task, what, key, worker) values ($1, $2, $3, $4)', [task, what, key, worker])
    options.onStep?.(what)
  }
  const find = async (key: string): Promise<{ deal: string } | null> => {
    const { rows } = await pool.query<{ id: string }>(`select id from ledger where what = 'deal' and key = $1`, [key])
    return rows[0] === undefined ? null : { deal: rows[0].id }
  }
  const pause = (at?: 'generate'): Promise<void> => {
    const isHere = options.pauseAt === undefined || options.pauseAt === at
    return new Promise((resolve) => setTimeout(resolve, isHere ? (options.pauseMs ?? 0) : 0))
  }

  return agent({
    name: 'ledger',
    input: z.unknown(),
    async run(task) {
      const context = await task.step('retrieve', async () => {
        await note(task.id, 'retrieve')
        await pause()
        return 'история клиента'
      })
      await task.step('plan', async () => {
        await note(task.id, 'plan')
        await pause()
      })
      const send = async (_request: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) => {
        await note(task.id, 'request', idempotencyKey)
        if (options.receiver === 'find' || (await find(idempotencyKey)) === null)
          await note(task.id, 'deal', idempotencyKey)
        await pause()
        return (await find(idempotencyKey)) as { deal: string }
      }
      const request = { title: 'Возврат' }
      const { deal } =
        options.receiver === 'keys'
          ? await task.effect('tool_call:deal', { request, keyWindowMs: 3_600_000, send })
          : await task.effect('tool_call:deal', {
              request,
              timeoutMs: 500,
              findLagMs: 100,
              find: (_request, { idempotencyKey }) => find(idempotencyKey),
              send,
            })
      const text = await task.step('generate', async ({ emit }) => {
        await note(task.id, 'generate')
        for (const word of ['Ваша ', 'сделка ', deal]) emit('text', word)
        await pause('generate')
        return `${context}: ${deal}`
      })
      return task.transaction('store', async (sql) => {
        await sql.query('insert into replies (task, text) values ($1, $2)', [task.id, text])
        await pause()
        return text
      })
    },
  })
}
