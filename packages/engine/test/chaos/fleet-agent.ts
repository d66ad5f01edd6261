import pg from 'pg'
import { z } from 'zod'
import { type Agent, agent as presentAgent, type TaskContext } from '../../src/index.ts'

/**
 * One agent in as many states of its code as a test deploys. Every step gives back its own key, and the code checks each
 * value that it is given: a result fed to another step is a row in `fed_wrong`.
 */
export const FLEET_BOOKS = `
  create table runs (id bigserial primary key, task uuid not null, key text not null, release text not null);
  create table fed_wrong (task uuid not null, key text not null, value text not null);
  create table gate (is_open boolean not null)`

export interface FleetCode {
  readonly release: string
  readonly version?: number
  readonly continues?: readonly number[]
  /** Default: a text alone. `language` wants one more field, `default` gives it where it is missing. */
  readonly input?: 'text' | 'language' | 'default'
  readonly steps?: readonly FleetStep[]
  readonly pauseMs?: number
}

export interface FleetStep {
  readonly key: string
  readonly kind?: 'step' | 'transaction' | 'sleep'
  readonly version?: number
  /** Stays in the step until the test opens the gate. */
  readonly isGated?: boolean
}

const STEPS: readonly FleetStep[] = [{ key: 'retrieve' }, { key: 'plan', isGated: true }, { key: 'answer' }]

const INPUTS = {
  text: z.object({ text: z.string() }),
  language: z.object({ text: z.string(), language: z.string() }),
  default: z.object({ text: z.string(), language: z.string().default('ru') }),
}

export function fleetAgent(
  url: string,
  code: FleetCode,
  { agent } = { agent: presentAgent },
): Agent<'fleet', { text: string }, string> {
  const { release, version = 1, continues = [], input = 'text', steps = STEPS, pauseMs = 0 } = code
  const pool = new pg.Pool({ connectionString: url, max: 5, allowExitOnIdle: true })
  pool.on('error', () => undefined)
  const isOpen = async (): Promise<boolean> => (await pool.query('select 1 from gate where is_open')).rows.length > 0

  async function runStep(task: TaskContext, { key, kind = 'step', version: stepVersion, isGated }: FleetStep) {
    if (kind === 'sleep') return task.sleep(key, pauseMs)
    const work = async ({ signal }: { readonly signal: AbortSignal }): Promise<string> => {
      await pool.query('insert into runs (task, key, release) values ($1, $2, $3)', [task.id, key, release])
      await pause(pauseMs)
      while (isGated && !signal.aborted && !(await isOpen())) await pause(50)
      signal.throwIfAborted()
      return key
    }
    const options = stepVersion === undefined ? {} : { version: stepVersion }
    const value =
      kind === 'step'
        ? await task.step(key, work, options)
        : await task.transaction(key, (_sql, context) => work(context), options)
    if (value !== key) await pool.query('insert into fed_wrong values ($1, $2, $3)', [task.id, key, value])
  }

  const made = agent({
    name: 'fleet',
    version,
    continues,
    input: INPUTS[input] as (typeof INPUTS)['text'],
    async run(task) {
      for (const step of steps) await runStep(task, step)
      return release
    },
  })
  return made as Agent<'fleet', { text: string }, string>
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
