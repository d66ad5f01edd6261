import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/index.ts'
import { agentOf, gate, setup, until } from './world.ts'

/** Raises for what is written, as long as the counter is in this range; sequences do not roll back. */
const refusing = (table: string, when: string, code: string, times: number): string => `
  create sequence tried;
  create function refuse() returns trigger language plpgsql as $$ begin
    if nextval('tried') <= ${times} then raise exception 'refused by the test' using errcode = '${code}'; end if;
    return new; end $$;
  create trigger refuse before insert or update on ${table} for each row when (${when}) execute function refuse()`

describe('a result that the database does not take', () => {
  test('for its data: the step fails once, visibly, and the others of its batch are stored', async () => {
    const { foothold, worker, query } = await setup()
    await query(refusing('foothold.agent_steps', `new.output::text like '%плохо%'`, '22P02', 1_000_000))
    let ran = 0
    const good = gate()
    const writing = agent({
      name: 'writing',
      input: z.object({ text: z.string() }),
      run: (task, { text }) =>
        task.step('запись', async () => {
          if (text === 'плохо') ran += 1
          await good.opened
          return text
        }),
    })
    await worker([writing], { concurrency: 50 })
    const bad = await foothold.submit(writing, { text: 'плохо' })
    const others = await Promise.all(Array.from({ length: 30 }, (_, n) => foothold.submit(writing, { text: `${n}` })))
    await until('all are claimed', async () => {
      const rows = await query<{ n: number }>(
        `select count(*)::int as n from foothold.tasks where status = 'processing'`,
      )
      return rows[0]?.n === 31
    })
    good.open()

    expect(await Promise.all(others.map((other) => other.result({ timeoutMs: 15_000 })))).toEqual(
      others.map((_, n) => `${n}`),
    )
    await expect(bad.result({ timeoutMs: 15_000 })).rejects.toThrow(/запись.*22P02/)
    expect(ran).toBe(1)
  })

  test('for a fault of its own: no try of the step is spent, and the task goes on when it can', async () => {
    const { foothold, worker, query } = await setup()
    await query(refusing('foothold.agent_steps', `new.status in ('completed', 'failed')`, '58030', 6))
    const tries: number[] = []
    const writing = agentOf((task) =>
      task.step('ответ', ({ tries: n }) => {
        tries.push(n)
        return 'оплаченный ответ'
      }),
    )
    await worker([writing])

    const handle = await foothold.submit(writing, null)

    expect(await handle.result({ timeoutMs: 20_000 })).toBe('оплаченный ответ')
    expect(new Set(tries)).toEqual(new Set([1]))
    expect(await query(`select distinct outcome, reason from foothold.attempts where outcome <> 'completed'`)).toEqual([
      { outcome: 'handed_over', reason: 'database_error' },
    ])
  })
})

describe.for(['40001', '40P01', '57P01', '53100'])('while statements fail with %s', (code) => {
  test('a finished task is completed without a step running again', async () => {
    const { foothold, worker, query } = await setup()
    await query(refusing('foothold.tasks', `new.status = 'completed'`, code, 3))
    let ran = 0
    const answering = agentOf((task) =>
      task.step('ответ', () => {
        ran += 1
        return 'оплаченный ответ'
      }),
    )
    await worker([answering])

    expect(await (await foothold.submit(answering, null)).result({ timeoutMs: 15_000 })).toBe('оплаченный ответ')
    expect(ran).toBe(1)
    expect(await query('select attempt, outcome from foothold.attempts')).toEqual([
      { attempt: 1, outcome: 'completed' },
    ])
  })

  test('no request leaves before its intent is stored, and then one does', async () => {
    const { foothold, worker, query } = await setup()
    await query(refusing('foothold.agent_steps', `new.status = 'intent'`, code, 5))
    const intents: number[] = []
    const sending = agentOf((task) =>
      task.effect('сделка', {
        request: {},
        onDoubt: 'ask',
        // Shorter than the outage: waiting for the database is not the receiver's time.
        timeoutMs: 100,
        async send() {
          const rows = await query<{ n: number }>(
            `select count(*)::int as n from foothold.agent_steps where status = 'intent'`,
          )
          intents.push(rows[0]?.n ?? 0)
          return 55
        },
      }),
    )
    await worker([sending])

    expect(await (await foothold.submit(sending, null)).result({ timeoutMs: 15_000 })).toBe(55)
    expect(intents).toEqual([1])
    expect(await query('select tries from foothold.agent_steps')).toEqual([{ tries: 1 }])
  })
})

test('a task row that somebody holds keeps no other task from storing its steps', async () => {
  const { foothold, worker, session } = await setup()
  const started = gate()
  const go = gate()
  const slow = agentOf(
    async (task) =>
      task.step('шаг', async () => {
        started.open()
        await go.opened
      }),
    { name: 'slow' },
  )
  const quick = agentOf(
    async (task) => {
      for (let n = 0; n < 5; n += 1) await task.step(`шаг ${n}`, () => n)
    },
    { name: 'quick' },
  )
  const running = await worker([slow, quick])
  const stuck = await foothold.submit(slow, null)
  await started.opened
  const holder = await session()
  await holder.query('begin')
  await holder.query('select 1 from foothold.tasks where id = $1 for update', [stuck.id])
  go.open()

  const others = await Promise.all(Array.from({ length: 5 }, () => foothold.submit(quick, null)))
  await Promise.all(others.map((other) => other.result({ timeoutMs: 5_000 })))

  expect(running.running).toBe(1)
  await holder.query('rollback')
  await stuck.result({ timeoutMs: 15_000 })
})

describe('a run that ends while another branch is in flight', () => {
  test.for(['throws', 'returns'] as const)('waits for the effect that is on its way when it %s', async (how) => {
    const { foothold, worker, query } = await setup()
    const sent = gate()
    const answer = gate()
    let sends = 0
    const two = agentOf(async (task) => {
      const effect = task.effect('сделка', {
        request: {},
        onDoubt: 'ask',
        async send() {
          sends += 1
          sent.open()
          await answer.opened
          return 55
        },
      })
      if (sends > 1) return effect
      await task.step(
        'проверка',
        async () => {
          await sent.opened
          setTimeout(() => answer.open(), 200)
          if (how === 'throws') throw new TypeError('нет')
        },
        { retry: { attemptsMax: 1 } },
      )
      return 'без ответа'
    })
    await worker([two])
    const handle = await foothold.submit(two, null)

    await handle.result({ timeoutMs: 10_000 }).catch(() => undefined)

    expect(await query(`select status, output from foothold.agent_steps where key = 'сделка'`)).toEqual([
      { status: 'completed', output: 55 },
    ])
    expect(sends).toBe(1)
  })

  test('aborts its plain steps, so that they do not go on in a slot that is free', async () => {
    const { foothold, worker } = await setup()
    let aborted: unknown
    const racing = agentOf((task) =>
      Promise.race([
        task.step('долгий', async ({ signal }) => {
          signal.addEventListener('abort', () => {
            aborted = signal.reason
          })
          await new Promise(() => undefined)
        }),
        task.step('быстрый', () => 'первым'),
      ]),
    )
    const running = await worker([racing])

    expect(await (await foothold.submit(racing, null)).result({ timeoutMs: 10_000 })).toBe('первым')
    await until('the slot is free', () => running.running === 0)
    expect(aborted).toMatchObject({ code: 'ATTEMPT_ENDED' })
  })
})

test('what a step gives after its time limit does not change what the task has seen', async () => {
  const { foothold, worker, query } = await setup()
  const late = gate()
  const settled = gate()
  const falling = agentOf(async (task) => {
    const answer = await task
      .step(
        'модель',
        async () => {
          await late.opened
          setImmediate(() => settled.open())
          return 'слишком поздно'
        },
        { timeoutMs: 50, retry: { attemptsMax: 1 } },
      )
      .catch(() => 'запасной ответ')
    await task.step('после', async () => {
      late.open()
      await settled.opened
    })
    await task.step('ещё', () => null)
    return answer
  })
  await worker([falling])

  expect(await (await foothold.submit(falling, null)).result({ timeoutMs: 10_000 })).toBe('запасной ответ')
  expect(await query(`select status, output from foothold.agent_steps where key = 'модель'`)).toEqual([
    { status: 'failed', output: null },
  ])
})

test('a cancel that was asked for is not turned into a dead letter by a step that fails meanwhile', async () => {
  const { foothold, worker, query } = await setup()
  const started = gate()
  const fail = gate()
  const failing = agentOf((task) =>
    task.step(
      'шаг',
      async () => {
        started.open()
        await fail.opened
        throw new Error('нет')
      },
      { retry: { attemptsMax: 1 } },
    ),
  )
  // A ping that comes late: the worker does not know of the cancel yet.
  await worker([failing], { heartbeatMs: 5_000, leaseMs: 20_000 })
  const handle = await foothold.submit(failing, null)
  await started.opened

  await foothold.cancel(handle.id, { reason: 'передумал' })
  fail.open()

  await until('the task has ended', async () => {
    const [task] = await query<{ status: string }>('select status from foothold.tasks')
    return task?.status !== 'processing'
  })
  expect(await handle.state()).toEqual({ status: 'cancelled', reason: 'передумал' })
})
