import { type Simulators, startSimulators } from '@foothold/simulators'
import { connect, type Foothold, type Queryable, type TaskId } from 'foothold'
import { createTestDatabase } from 'foothold/testing'
import pg from 'pg'
import { inject } from 'vitest'
import type { HeldProgramSettings } from './held-program.ts'
import { type LoadedProgram, loadProgram, type Mode, type Program } from './program.ts'

/** The whole system on loopback: PostgreSQL, the services' stand-ins, and the application's own processes. */
export interface World {
  readonly foothold: Foothold
  readonly simulators: Simulators
  /** What the application's processes are told. */
  readonly environment: Readonly<Record<string, string>>
  readonly query: <Row = Record<string, unknown>>(text: string, values?: unknown[]) => Promise<Row[]>
  /** What is submitted in it has its ids at once, and is seen by workers when it commits. */
  inTransaction<T>(act: (sql: Queryable) => Promise<T>): Promise<T>
  /** A process whose code is loaded; it begins when it is told to. */
  load(mode: Mode, options?: StartOptions): Promise<LoadedProgram>
  /** The same, begun at once; resolves when it is ready. */
  start(mode: Mode, options?: StartOptions): Promise<Program>
  close(): Promise<void>
}

export interface StartOptions extends HeldProgramSettings {
  readonly environment?: Readonly<Record<string, string>>
}

export interface WorldOptions {
  /** Whether a gateway before the CRM honours Idempotency-Key. Default: the CRM as it is, without. */
  readonly crmKeys?: boolean
  /** Of the model: between two pieces of an answer. Default 0. */
  readonly chunkDelayMs?: number
}

/**
 * Every change of a task's status, as the database saw it: a state that lasts some milliseconds cannot be polled for.
 */
const WITNESS = `
  create table public.transitions (
    n bigint generated always as identity primary key, at timestamptz not null, task_id uuid not null, "from" text not null,
    "to" text not null, attempt int not null, worker text, last_reason text, retry_count int not null,
    crash_count int not null, crashes_total int not null);
  create function public.note_transition() returns trigger language plpgsql as $$ begin
    insert into public.transitions (at, task_id, "from", "to", attempt, worker, last_reason, retry_count, crash_count, crashes_total)
    values (clock_timestamp(), new.id, old.status, new.status, new.attempt, coalesce(new.worker_id, old.worker_id),
            new.last_reason, new.retry_count, new.crash_count, new.crashes_total);
    return null;
  end $$;
  create trigger note_transition after update on foothold.tasks for each row
    when (old.status is distinct from new.status) execute function public.note_transition()`

export interface Transition {
  readonly at: Date
  readonly from: string
  readonly to: string
  readonly attempt: number
  readonly worker: string | null
  readonly lastReason: string | null
  readonly retryCount: number
  readonly crashCount: number
  readonly crashesTotal: number
}

export async function openWorld({ crmKeys = false, chunkDelayMs = 0 }: WorldOptions = {}): Promise<World> {
  const database = await createTestDatabase(inject('postgresUrl'))
  const simulators = await startSimulators({
    gigachat: { chunkDelayMs, parallelMax: 1_000, tokenRequestsPerSecond: 1_000 },
    crm: { mode: crmKeys ? 'keys' : 'none' },
  })
  const foothold = await connect(database.url, { logger: 'silent' })
  const pool = new pg.Pool({ connectionString: database.url, max: 4 })
  pool.on('error', () => undefined)
  await pool.query(WITNESS)
  const { gigachat, crm, telegram } = simulators
  const environment = {
    DATABASE_URL: database.url,
    GIGACHAT_CREDENTIALS: gigachat.credentials,
    GIGACHAT_BASE_URL: gigachat.baseUrl,
    GIGACHAT_AUTH_URL: gigachat.authUrl,
    CRM_URL: crm.baseUrl,
    CRM_KEYS: crmKeys ? '1' : '0',
    TELEGRAM_BOT_TOKEN: telegram.token,
    TELEGRAM_API_ROOT: telegram.apiRoot,
    TELEGRAM_DEFAULT_CHAT_ID: telegram.defaultChatId,
    PORT: '0',
  }
  const programs: LoadedProgram[] = []
  const load: World['load'] = async (mode, { environment: own = {}, ...settings } = {}) => {
    const program = await loadProgram(mode, { ...environment, ...own }, settings)
    programs.push(program)
    return program
  }
  return {
    foothold,
    simulators,
    environment,
    query: async (text, values) => (await pool.query(text, values)).rows,
    async inTransaction(act) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        const result = await act(client)
        await client.query('commit')
        client.release()
        return result
      } catch (error) {
        client.release(true)
        throw error
      }
    },
    load,
    start: async (mode, options) => (await load(mode, options)).go(),
    async close() {
      await Promise.all(programs.map((program) => program.end()))
      await foothold.close()
      await pool.end()
      await simulators.close()
      await database.drop()
    },
  }
}

export function transitionsOf(world: World, taskId: TaskId): Promise<Transition[]> {
  return world.query<Transition>(
    `select at, "from", "to", attempt, worker, last_reason as "lastReason", retry_count as "retryCount",
            crash_count as "crashCount", crashes_total as "crashesTotal"
     from public.transitions where task_id = $1 order by n`,
    [taskId],
  )
}

/** The steps whose stored result an attempt wrote, without the order's number. */
export async function stepsOfAttempt(
  world: World,
  { taskId, orderId }: { readonly taskId: TaskId; readonly orderId: string },
  attempt: number,
): Promise<string[]> {
  const steps = await world.query<{ key: string }>(
    'select key from foothold.agent_steps where task_id = $1 and attempt = $2',
    [taskId, attempt],
  )
  return steps.map(({ key }) => key.replace(`order-${orderId}`, 'order')).toSorted()
}

/** Looks until it is so. */
export async function until<T>(what: string, look: () => Promise<T>, timeoutMs = 30_000): Promise<NonNullable<T>> {
  const endsAt = Date.now() + timeoutMs
  for (;;) {
    const seen = await look()
    if (seen !== null && seen !== undefined && seen !== false) return seen
    if (Date.now() > endsAt) throw new Error(`Waited ${timeoutMs} ms in vain: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
