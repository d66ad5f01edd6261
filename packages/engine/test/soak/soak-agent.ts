import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { z } from 'zod'
import { type Agent, agent, signal } from '../../src/index.ts'

/**
 * The ledger agent's five steps with every kind of effect and wait between them. Each execution of a step brings a mark
 * of its own, and the task's output names the marks it went by: whoever wrote over a step that somebody had read already
 * is found out by that.
 */

/** The outside world, on a server that no fault reaches. No guard of the engine's: what comes is written down. */
export const BOOKS = `
  create table executions (id bigserial primary key, at timestamptz not null default clock_timestamp(), task text not null,
    what text not null, attempt int not null, worker text not null);
  create table records (id bigserial primary key, at timestamptz not null default clock_timestamp(), task text not null,
    what text not null, key text not null, worker text not null);
  -- A receiver that keeps keys; the others take what comes.
  create unique index kept_keys on records (key) where what = 'deal';
  create index records_of_task on records (task, what)`

export const confirmed = signal('confirmed', z.object({ n: z.number() }))

export const SoakInput = z.object({ n: z.number(), pauseMs: z.number(), sleepMs: z.number() })

export interface SoakOutput {
  /** Follows from the input alone. */
  readonly sum: number
  /** By step: the mark of the execution that counts. */
  readonly marks: Record<string, string>
  /** By effect: the receiver's own number of the record. */
  readonly records: Record<string, string>
}

/** What each effect's receiver can do, and so how often it may have the record. */
export const EFFECTS = { deal: 'keeps keys', note: 'can be asked', ask: 'takes what comes' } as const

export function expectedSum(n: number): number {
  return n * 2 + (n % 7) + 40
}

/** Faults are not the steps' own: they must not use up what a step may fail. */
const retry = { attemptsMax: 50, firstDelayMs: 50, delayMaxMs: 500 }

export interface SoakAgentOptions {
  /** Sends a key of its own making: the negative control of keyed effects. */
  readonly forgetsKeys?: boolean
}

export function soakAgent(
  booksUrl: string,
  { forgetsKeys = false }: SoakAgentOptions = {},
): Agent<'soak', z.input<typeof SoakInput>, SoakOutput> {
  const books = new pg.Pool({ connectionString: booksUrl, max: 6, min: 2, allowExitOnIdle: true })
  books.on('error', () => undefined)
  const worker = String(process.pid)

  return agent({
    name: 'soak',
    input: SoakInput,
    retry,
    async run(task, { n, pauseMs, sleepMs }) {
      const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, pauseMs))
      const did = async (what: string): Promise<string> => {
        const mark = randomUUID()
        await books.query('insert into executions (task, what, attempt, worker) values ($1, $2, $3, $4)', [
          task.id,
          what,
          task.attempt,
          worker,
        ])
        return mark
      }
      const find = async (what: string, key: string): Promise<string | null> => {
        const found = await books.query<{ id: string }>('select id from records where what = $1 and key = $2 limit 1', [
          what,
          key,
        ])
        return found.rows[0]?.id ?? null
      }
      // One statement: a request is at the receiver or it is not.
      const record =
        (what: keyof typeof EFFECTS) =>
        async (_request: unknown, { idempotencyKey }: { readonly idempotencyKey: string }): Promise<string> => {
          const key = forgetsKeys ? randomUUID() : idempotencyKey
          const made = await books.query<{ id: string }>(
            `insert into records (task, what, key, worker) values ($1, $2, $3, $4)
             on conflict (key) where what = 'deal' do nothing returning id`,
            [task.id, what, key, worker],
          )
          if (what === 'ask') await books.query(`select pg_notify('asked', $1)`, [task.id])
          await pause()
          return made.rows[0]?.id ?? ((await find(what, key)) as string)
        }

      const context = await task.step(
        'retrieve',
        async () => {
          const mark = await did('retrieve')
          await pause()
          return { mark, value: n * 2 }
        },
        { retry },
      )
      const deal = await task.effect('tool_call:deal', {
        request: { title: 'Возврат', n },
        keyWindowMs: 3_600_000,
        send: record('deal'),
        retry,
      })
      const plan = await task.step(
        'plan',
        async ({ emit }) => {
          const mark = await did('plan')
          emit('text', 'план ')
          await pause()
          return { mark, value: n % 7 }
        },
        { retry },
      )
      await task.sleep('rest', sleepMs)
      const note = await task.effect('tool_call:note', {
        request: { text: 'Заметка', n },
        timeoutMs: 1_500,
        findLagMs: 100,
        find: (_request, { idempotencyKey }) => find('note', idempotencyKey),
        send: record('note'),
        retry,
      })
      const ask = await task.effect('tool_call:ask', {
        request: { question: 'Подтвердить?', n },
        onDoubt: 'repeat',
        send: record('ask'),
        retry,
      })
      const answer = await task.waitForSignal('confirmed', confirmed)
      const generate = await task.step(
        'generate',
        async () => {
          const mark = await did('generate')
          await pause()
          return { mark, value: 40 + answer.n - n }
        },
        { retry },
      )
      const store = await task.transaction(
        'store',
        async (sql) => {
          const mark = await did('store')
          await sql.query('insert into soak.replies (task, mark) values ($1, $2)', [task.id, mark])
          return { mark }
        },
        { retry },
      )
      return {
        sum: context.value + plan.value + generate.value,
        marks: { retrieve: context.mark, plan: plan.mark, generate: generate.mark, store: store.mark },
        records: { deal, note, ask },
      }
    },
  })
}
