import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/index.ts'
import { agentOf, gate, setup, until } from '../integration/world.ts'
import { startBlackHole } from './black-hole.ts'
import { LEDGER, ledgerAgent } from './ledger-agent.ts'
import { startWorkerProcess } from './processes.ts'

const STEPS = ['retrieve', 'plan', 'deal', 'generate'] as const

describe('SIGTERM', () => {
  test.for(STEPS)(
    'in the middle of %s: the step ends, nothing new is claimed, the neighbour has the task at once',
    async (step) => {
      const { url, foothold, query, worker } = await setup()
      await query(LEDGER)
      const leaving = startWorkerProcess({ url, receiver: 'keys', pauseMs: 300 })
      await leaving.tells((told) => told['message'] === 'worker started')
      const handle = await foothold.submit(ledgerAgent(url, { receiver: 'keys' }), null)
      await leaving.tells((told) => told['step'] === step)

      leaving.kill('SIGTERM')
      await leaving.tells((told) => told['message'] === 'drain started')
      const later = await foothold.submit(ledgerAgent(url, { receiver: 'keys' }), null)

      expect(await leaving.exited).toEqual({ code: 0, signal: null })
      expect(
        await query(
          'select status, last_reason, retry_count, crash_count, handover_count from foothold.tasks where id = $1',
          [handle.id],
        ),
      ).toEqual([
        { status: 'pending', last_reason: 'graceful_shutdown', retry_count: 0, crash_count: 0, handover_count: 1 },
      ])
      expect(await query('select attempt, status from foothold.tasks where id = $1', [later.id])).toEqual([
        { attempt: 0, status: 'pending' },
      ])

      await worker([ledgerAgent(url, { receiver: 'keys' })])
      await handle.result({ timeoutMs: 10_000 })
      const counts = await query<{ what: string; n: number }>(
        'select what, count(*)::int as n from ledger where task = $1 group by what',
        [handle.id],
      )
      expect(Object.fromEntries(counts.map(({ what, n }) => [what, n]))).toEqual({
        retrieve: 1,
        plan: 1,
        request: 1,
        deal: 1,
        generate: 1,
      })
    },
  )

  test('with five effects in flight: each is answered, stored and not repeated', async () => {
    const { foothold, worker, query } = await setup()
    const inFlight = gate()
    const answer = gate()
    const sent: string[] = []
    const five = agentOf(async (task) => {
      await Promise.all(
        [1, 2, 3, 4, 5].map((n) =>
          task.effect(`tool_call:${n}`, {
            request: { n },
            onDoubt: 'ask',
            async send({ n: number }, { idempotencyKey }) {
              sent.push(`${number} ${idempotencyKey}`)
              if (sent.length === 5) inFlight.open()
              await answer.opened
              return number
            },
          }),
        ),
      )
      return task.step('after', () => 'все пять')
    })
    const leaving = await worker([five])
    const handle = await foothold.submit(five, null)
    await inFlight.opened

    const drained = leaving.drain()
    answer.open()
    expect((await drained).handedOver).toEqual([handle.id])
    expect(await query(`select status, count(*)::int as n from foothold.agent_steps group by status`)).toEqual([
      { status: 'completed', n: 5 },
    ])

    await worker([five])
    expect(await handle.result({ timeoutMs: 10_000 })).toBe('все пять')
    expect(sent).toHaveLength(5)
  })

  test('a step that does not end in the grace is handed over as it is, and the process still ends in time', async () => {
    const { foothold, worker, query } = await setup()
    const started = gate()
    let aborted: unknown
    const stubborn = agentOf((task) =>
      task.step('stubborn', async ({ signal }) => {
        signal.addEventListener('abort', () => {
          aborted = signal.reason
        })
        started.open()
        await new Promise(() => undefined)
      }),
    )
    const leaving = await worker([stubborn], { graceMs: 800 })
    const handle = await foothold.submit(stubborn, null)
    await started.opened
    const at = Date.now()

    expect(await leaving.drain()).toEqual({ handedOver: [handle.id], leftBehind: [] })

    expect(Date.now() - at).toBeLessThan(3_000)
    expect(aborted).toMatchObject({ code: 'ATTEMPT_ENDED', details: { reason: 'graceful_shutdown' } })
    expect(await query('select status, last_reason from foothold.tasks')).toEqual([
      { status: 'pending', last_reason: 'graceful_shutdown' },
    ])
  })

  test('drained twice and before its start, a worker stays what it is', async () => {
    const { foothold } = await setup()
    const idle = foothold.worker({ agents: [agentOf(async () => null)] })

    const first = idle.drain()

    expect(idle.drain()).toBe(first)
    expect(await first).toEqual({ handedOver: [], leftBehind: [] })
    expect(() => idle.start()).toThrow(/drained/)
  })
})

describe('SIGSTOP longer than the lease', () => {
  test('the woken worker starts no request, writes nothing, and goes on under a new id', async () => {
    const { url, foothold, query, worker } = await setup()
    await query(LEDGER)
    const frozen = startWorkerProcess({
      url,
      receiver: 'keys',
      // Between the intent and the request: the worst moment to wake up in.
      killAt: [{ point: 'intent.stored', signal: 'SIGSTOP' }],
    })
    await frozen.tells((told) => told['message'] === 'worker started')
    const handle = await foothold.submit(ledgerAgent(url, { receiver: 'keys' }), null)
    await until('the worker is frozen with its intent stored', async () => {
      const rows = await query(`select 1 from foothold.agent_steps where status = 'intent'`)
      return rows.length > 0
    })

    await worker([ledgerAgent(url, { receiver: 'keys' })], { heartbeatMs: 200, leaseMs: 1_000 })
    expect(await handle.result({ timeoutMs: 20_000 })).toMatch(/^история/)
    const before = await query('select * from foothold.agent_steps order by key')
    frozen.kill('SIGCONT')
    await frozen.tells((told) => told['reason'] === 'lease_lost')

    // Its new life works: another task can end there too.
    await (await foothold.submit(ledgerAgent(url, { receiver: 'keys' }), null)).result({ timeoutMs: 20_000 })
    expect(await query('select * from foothold.agent_steps where task_id = $1 order by key', [handle.id])).toEqual(
      before,
    )
    expect(
      await query(`select count(*)::int as n from ledger where what = 'request' and task = $1`, [handle.id]),
    ).toEqual([{ n: 1 }])
    expect(
      await query(
        `select count(*)::int as n from ledger where worker = $1 and what in ('request', 'deal') and task = $2`,
        [String(frozen.pid), handle.id],
      ),
    ).toEqual([{ n: 0 }])
  })
})

describe('a task that kills its worker', () => {
  test('is a dead letter after the third crash, with its cause in the history, and resumes at the failed step', async () => {
    const { url, foothold, query } = await setup()
    await query(LEDGER)
    // Three lives, each killed in `plan`; no step is stored in between but the first one's.
    const handle = await foothold.submit(ledgerAgent(url, { receiver: 'keys' }), null)
    for (let life = 1; life <= 3; life += 1) {
      const victim = startWorkerProcess({
        url,
        receiver: 'keys',
        concurrency: 1,
        killAt: [{ point: 'step.ran', key: 'plan' }],
      })
      expect((await victim.exited).signal).toBe('SIGKILL')
    }
    const last = startWorkerProcess({ url, receiver: 'keys' })

    await expect(handle.result({ timeoutMs: 20_000 })).rejects.toMatchObject({
      code: 'TASK_DEAD_LETTER',
      details: { reason: 'orphaned' },
    })
    const attempts = await query<{ outcome: string; detail: string }>(
      'select outcome, detail from foothold.attempts order by attempt',
    )
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['orphaned', 'orphaned', 'dead_letter'])
    expect(attempts.at(-1)?.detail).toMatch(/was lost while active, after step retrieve/)

    await foothold.resume(handle.id)
    expect(await handle.result({ timeoutMs: 20_000 })).toMatch(/^история/)
    expect(await query(`select count(*)::int as n from ledger where what = 'retrieve'`)).toEqual([{ n: 1 }])
    expect(last.told.some((told) => told['step'] === 'retrieve')).toBe(false)
  }, 90_000)
})

describe('a dead letter with someone to answer', () => {
  test('creates its follow-up in the same transaction, which gets the input and the cause', async () => {
    const { foothold, worker } = await setup()
    const answered: unknown[] = []
    const support = agent({
      name: 'support',
      input: z.object({ text: z.string() }),
      async run(task) {
        return task.step(
          'plan',
          () => {
            throw new RangeError('не вышло')
          },
          { retry: { attemptsMax: 1 } },
        )
      },
      async onDeadLetter(task, input, deadLetter) {
        await task.step('reply', () => {
          answered.push([input.text, deadLetter.reason, deadLetter.error.message])
        })
      },
    })
    await worker([support])

    const handle = await foothold.submit(support, { text: 'Где заказ?' })

    await expect(handle.result({ timeoutMs: 10_000 })).rejects.toMatchObject({ code: 'TASK_DEAD_LETTER' })
    await until('the follow-up has answered', () => answered.length > 0)
    expect(answered).toEqual([['Где заказ?', 'step_failed', expect.stringContaining('не вышло')]])
  })
})

describe('a database that swallows packets', () => {
  test('does not hold up a drain: the process ends inside 8 s, non-zero, and names what it left', async () => {
    const { url, foothold, query } = await setup()
    await query(LEDGER)
    const hole = await startBlackHole(url)
    const leaving = startWorkerProcess({
      url: hole.url,
      ledgerUrl: url,
      receiver: 'keys',
      pauseMs: 60_000,
      heartbeatMs: 5_000,
      leaseMs: 20_000,
      graceMs: 6_500,
    })
    await leaving.tells((told) => told['message'] === 'worker started')
    const handle = await foothold.submit(ledgerAgent(url, { receiver: 'keys' }), null)
    await leaving.tells((told) => told['step'] === 'retrieve')

    hole.swallow()
    const signalledAt = Date.now()
    leaving.kill('SIGTERM')

    expect(await leaving.exited).toEqual({ code: 1, signal: null })
    expect(Date.now() - signalledAt).toBeLessThan(8_000)
    expect(leaving.told.find((told) => Array.isArray(told['tasks']))).toMatchObject({ tasks: [handle.id] })
  }, 60_000)
})
