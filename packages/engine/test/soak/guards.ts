import pg from 'pg'

/**
 * The negative controls: each takes one guard away, and the soak has to see it. Statements lose theirs on the way out of
 * the worker's process, behind the engine as it is in production; nothing in the engine can be switched off.
 */

export type Verdict =
  | 'lost'
  | 'stuck'
  | 'zombie writes'
  | 'effects doubled'
  | 'diverged'
  | 'steps run again'
  | 'abandoned'

interface Cut {
  /** What a statement must contain for this to be its guard. */
  readonly find: string
  readonly instead: string
}

interface Guard {
  readonly is: string
  /** What must be red without it. */
  readonly reddens: Verdict
  readonly cuts?: readonly Cut[]
}

const FENCE = `t.id = $1 and t.attempt = $2 and t.worker_id = $3 and t.status = 'processing'`

export const GUARDS = {
  fence: {
    is: 'a write counts only for the attempt and the worker that hold the task',
    reddens: 'zombie writes',
    cuts: [
      { find: FENCE, instead: `t.id = $1 and $2::int is not null and $3::text is not null` },
      {
        find: `where id = $1 and attempt = $2 and worker_id = $3 and status = 'processing'`,
        instead: `where id = $1 and $2::int is not null and $3::text is not null`,
      },
      {
        find: `where t.id = any($2::uuid[]) and t.worker_id = $1 and t.status = 'processing'\n    order by t.id for no key update`,
        instead: `where t.id = any($2::uuid[]) order by t.id for no key update`,
      },
      { find: `v join f using (id, attempt)`, instead: `v join (select id from f) f using (id)` },
      {
        find: `v left join f using (id, attempt)`,
        instead: `v left join (select id from f) f using (id)`,
      },
    ],
  },
  result: {
    is: 'a step that has a result keeps it (to be seen together with fence: --without fence,result)',
    reddens: 'diverged',
    cuts: [
      {
        find: `where s.status in ('intent', 'failed', 'waiting')\n    returning s.task_id, s.key`,
        instead: 'returning s.task_id, s.key',
      },
    ],
  },
  sweep: {
    is: 'tasks of lost workers are found and given back',
    reddens: 'stuck',
    cuts: [
      {
        find: `where t.status = 'processing' and (w.id is null or w.status in ('lost', 'stopped'))`,
        instead: `where false and (w.id is null or w.status in ('lost', 'stopped'))`,
      },
    ],
  },
  promote: {
    is: 'what waits for a time is woken',
    reddens: 'stuck',
    cuts: [
      {
        find: `where status = 'waiting' and wake_at <= foothold.clock()`,
        instead: `where false and wake_at <= foothold.clock()`,
      },
    ],
  },
  wake: {
    is: 'a task does not go to sleep over a signal that has come in',
    reddens: 'stuck',
    cuts: [{ find: 'and wake_seq = $4', instead: 'and $4::int is not null' }],
  },
  intent: {
    is: 'what is about to be sent is written down before',
    reddens: 'effects doubled',
    cuts: [
      {
        find: `insert into foothold.agent_steps (task_id, key, kind, version, status, tries, attempt, worker_id, idempotency_key`,
        instead: '',
      },
    ],
  },
  memory: {
    is: 'an attempt begins with the steps that are stored',
    reddens: 'steps run again',
    cuts: [
      {
        find: `from foothold.agent_steps s where s.task_id = t.id), '[]') as steps`,
        instead: `from foothold.agent_steps s where s.task_id = t.id and s.kind not in ('step', 'transaction')), '[]') as steps`,
      },
    ],
  },
  keys: { is: 'a request sent again has the same key', reddens: 'effects doubled' },
  drain: { is: 'a worker that is told to stop hands over', reddens: 'abandoned' },
  commit: { is: 'an acknowledgement follows a commit that is written', reddens: 'lost' },
} as const satisfies Readonly<Record<string, Guard>>

export type GuardName = keyof typeof GUARDS

export const GUARD_NAMES = Object.keys(GUARDS) as readonly GuardName[]

/** Every statement of this process passes here from now on. `onCut`: one was found and lost its guard. */
export function cutGuards(names: readonly GuardName[], onCut: (name: GuardName) => void): void {
  const cuts = names.flatMap((name) => {
    const { cuts: own = [] } = GUARDS[name] as Guard
    return own.map((cut) => ({ name, ...cut }))
  })
  if (cuts.length === 0) return
  const cut = (text: string): string => {
    let left = text
    for (const { name, find, instead } of cuts) {
      if (!left.includes(find)) continue
      onCut(name)
      left = name === 'intent' ? INTENT_IN_MIND : left.replace(find, instead)
    }
    return left
  }
  const { query } = pg.Client.prototype as unknown as { query: (this: pg.Client, ...args: unknown[]) => unknown }
  Object.assign(pg.Client.prototype, {
    query(this: pg.Client, first: unknown, ...rest: unknown[]): unknown {
      if (typeof first === 'string') return query.call(this, cut(first), ...rest)
      if (typeof first === 'object' && first !== null && 'text' in first && typeof first.text === 'string') {
        first.text = cut(first.text)
      }
      return query.call(this, first, ...rest)
    },
  })
}

/** The statement answers as if the intent had been stored. */
const INTENT_IN_MIND = `
  with f as materialized (select t.id from foothold.tasks t where ${FENCE} for no key update),
  g as (select $4::text, $5::int, $6::int, $7::text, $8::json, $9::float8, $10::text, $11::float8)
  select exists (select 1 from f) as held, true as inserted`
