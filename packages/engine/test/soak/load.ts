import pg from 'pg'
import { connect, type Foothold, isFootholdError, type TaskId } from '../../src/index.ts'
import { randomOf } from './random.ts'
import { confirmed, soakAgent } from './soak-agent.ts'

/** A producer, the outside world that answers questions with signals, and a person who resumes dead letters. */

export interface Load {
  /** Acknowledged: the number that was asked for, by task. */
  readonly accepted: ReadonlyMap<string, number>
  readonly answered: number
  /** Stops submitting; answers go on. */
  stop(): Promise<void>
  end(): Promise<void>
}

/** Above this many unfinished tasks nothing is submitted: an outage must not pile up what the run cannot end. */
const OPEN_MAX = 150

export async function startLoad({
  url,
  booksUrl,
  perSecond,
  seed,
}: {
  readonly url: string
  readonly booksUrl: string
  readonly perSecond: number
  readonly seed: number
}): Promise<Load> {
  const foothold = await connect(url, { migrate: false, logger: 'silent' })
  const look = new pg.Pool({ connectionString: url, max: 1, query_timeout: 5_000 })
  look.on('error', () => undefined)
  const agent = soakAgent(booksUrl)
  const random = randomOf(seed ^ 0x5eed)
  const accepted = new Map<string, number>()
  const ending = new AbortController()
  const underWay = new Set<Promise<unknown>>()
  let isSubmitting = true
  let answered = 0

  const follow = (work: Promise<unknown>): void => {
    const done: Promise<unknown> = work.catch(() => undefined).finally(() => underWay.delete(done))
    underWay.add(done)
  }

  const submit = async (n: number, input: { pauseMs: number; sleepMs: number }): Promise<void> => {
    // The same key until it is acknowledged: a task may be there already when its acknowledgement was lost.
    const task = await untilAnswered(ending.signal, () =>
      foothold.submit(agent, { n, ...input }, { dedupeKey: `soak ${n}` }),
    )
    if (task !== null) accepted.set(task.id, n)
  }
  const answer = async (id: string): Promise<void> => {
    const n = accepted.get(id) ?? (await numberOf(id))
    await pause(random() < 0.5 ? 0 : random() * 300)
    const done = await untilAnswered(ending.signal, async () => {
      await foothold.sendSignal(id as TaskId, confirmed, { n }, { dedupeKey: 'the answer' })
      return true
    })
    if (done) answered += 1
  }
  const numberOf = async (id: string): Promise<number> => {
    const state = await untilAnswered(ending.signal, () =>
      look.query<{ n: number }>(`select (input->>'n')::int as n from foothold.task_payloads where task_id = $1`, [id]),
    )
    return state?.rows[0]?.n ?? 0
  }

  const asked = new Set<string>()
  const listener = new pg.Client({ connectionString: booksUrl })
  listener.on('error', () => undefined)
  listener.on('notification', ({ payload = '' }) => {
    // A repeated question has its answer already: another signal would wake whom a lost one left asleep.
    if (asked.has(payload)) return
    asked.add(payload)
    follow(answer(payload))
  })
  await listener.connect()
  await listener.query('listen asked')

  const openNow = async (): Promise<number> => {
    const { rows } = await look.query<{ n: number }>(
      `select count(*)::int as n from foothold.tasks where status in ('pending', 'processing', 'waiting')`,
    )
    return rows[0]?.n ?? 0
  }
  const submitting = (async () => {
    for (let n = 1; isSubmitting; n += 1) {
      const input = { pauseMs: Math.round(random() * 250), sleepMs: Math.round(random() * 600) }
      follow(submit(n, input))
      await pause(1_000 / perSecond)
      while (isSubmitting && (await openNow().catch(() => OPEN_MAX)) >= OPEN_MAX) await pause(200)
    }
  })()

  return {
    accepted,
    get answered() {
      return answered
    },
    async stop() {
      isSubmitting = false
      await submitting
      await Promise.all(underWay)
    },
    async end() {
      isSubmitting = false
      ending.abort()
      await Promise.allSettled([submitting, ...underWay])
      await Promise.allSettled([foothold.close(), listener.end(), look.end()])
    },
  }
}

/** What only a person may move: dead letters that crashes have made are resumed as on-call would. Gives how many. */
export async function resumeDeadLetters(foothold: Foothold, client: pg.Pool): Promise<number> {
  const { rows } = await client.query<{ id: TaskId }>(
    `select id from foothold.tasks where status = 'dead_letter' and last_reason = 'orphaned'`,
  )
  for (const { id } of rows) await foothold.resume(id).catch(() => undefined)
  return rows.length
}

async function untilAnswered<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T | null> {
  while (!signal.aborted) {
    try {
      return await ask()
    } catch (error) {
      // Ended before its answer came: nobody waits for it.
      if (isFootholdError(error, 'TASK_STATE_CONFLICT') || isFootholdError(error, 'TASK_NOT_FOUND')) return null
      await pause(100)
    }
  }
  return null
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
