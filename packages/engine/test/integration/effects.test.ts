import { describe, expect, test } from 'vitest'
import { ReasonedError, RetryError, TerminalError } from '../../src/index.ts'
import { agentOf, gate, setup, until, type World } from './world.ts'

const reset = (): Error => new ReasonedError('socket hang up', { reason: 'crm_unavailable' })
const retry = { firstDelayMs: 20, delayMaxMs: 50 }

async function waitsForPerson({ query }: World): Promise<void> {
  await until('the task waits for a person', async () => {
    const [task] = await query<{ waiting_for: string }>('select waiting_for from foothold.tasks')
    return task?.waiting_for === 'person'
  })
}

describe('after an unknown outcome', () => {
  test('a receiver that keeps keys gets the same bytes under the same key', async () => {
    const { foothold, worker } = await setup()
    const sent: string[] = []
    let title = 'Возврат'
    const keyed = agentOf((task) =>
      task.effect('deal', {
        retry,
        keyWindowMs: 60_000,
        request: { title },
        async send(request, { idempotencyKey }) {
          sent.push(`${idempotencyKey} ${JSON.stringify(request)}`)
          if (sent.length === 1) throw reset()
          return 'создана'
        },
      }),
    )
    await worker([keyed])
    const handle = await foothold.submit(keyed, null)

    expect(await handle.result({ timeoutMs: 10_000 })).toBe('создана')
    expect(sent).toHaveLength(2)
    expect(sent[1]).toBe(sent[0])
    title = 'другое'
  })

  test('a request that the code would send in another form stops the task instead', async () => {
    const { foothold, worker } = await setup()
    let sends = 0
    const changing = agentOf((task) =>
      task.effect('deal', {
        retry,
        keyWindowMs: 60_000,
        request: { n: sends },
        async send() {
          sends += 1
          throw reset()
        },
      }),
    )
    await worker([changing])
    const handle = await foothold.submit(changing, null)

    await expect(handle.result({ timeoutMs: 10_000 })).rejects.toMatchObject({
      details: { reason: 'effect_request_changed' },
    })
    expect(sends).toBe(1)
  })

  test('after a definite refusal the request may be mended, and goes out under a new key', async () => {
    const { foothold, worker } = await setup()
    const sent: { n: number; key: string }[] = []
    const mended = agentOf((task) =>
      task.effect('deal', {
        retry,
        keyWindowMs: 60_000,
        request: { n: sent.length },
        async send({ n }, { idempotencyKey }) {
          sent.push({ n, key: idempotencyKey })
          if (n === 0) throw new RetryError('422', { reason: 'crm_rejected' })
          return n
        },
      }),
    )
    await worker([mended])
    const handle = await foothold.submit(mended, null)

    expect(await handle.result({ timeoutMs: 10_000 })).toBe(1)
    expect(new Set(sent.map(({ key }) => key)).size).toBe(2)
  })

  test('once the receiver has forgotten its keys, it is asked; without a way to ask, a person is', async () => {
    const world = await setup()
    const { foothold, worker } = world
    let finds = 0
    let sends = 0
    const forgotten = agentOf(async (task) => {
      const found = await task.effect('findable', {
        retry,
        keyWindowMs: 1,
        request: {},
        send: async () => {
          throw reset()
        },
        find: async () => {
          finds += 1
          return 'нашлась'
        },
      })
      const decided = await task.effect('unfindable', {
        retry,
        keyWindowMs: 1,
        request: {},
        send: async () => {
          sends += 1
          throw reset()
        },
      })
      return { found, decided }
    })
    await worker([forgotten])
    const handle = await foothold.submit(forgotten, null)
    await waitsForPerson(world)

    await foothold.decide(handle.id, 'unfindable', { outcome: 'done', result: 'видела сама', by: 'Ольга' })

    expect(await handle.result({ timeoutMs: 10_000 })).toEqual({ found: 'нашлась', decided: 'видела сама' })
    expect({ finds, sends }).toEqual({ finds: 1, sends: 1 })
  })

  test('a look-up that finds nothing leads to one more request, after the receiver had its time', async () => {
    const { foothold, worker } = await setup()
    const events: { what: string; at: number }[] = []
    const findable = agentOf((task) =>
      task.effect('deal', {
        retry,
        findLagMs: 300,
        timeoutMs: 5_000,
        request: {},
        async send() {
          events.push({ what: 'send', at: Date.now() })
          if (events.length === 1) throw reset()
          return 'со второго раза'
        },
        async find() {
          events.push({ what: 'find', at: Date.now() })
          return null
        },
      }),
    )
    await worker([findable])
    const handle = await foothold.submit(findable, null)

    expect(await handle.result({ timeoutMs: 10_000 })).toBe('со второго раза')
    expect(events.map(({ what }) => what)).toEqual(['send', 'find', 'send'])
    expect((events[1]?.at ?? 0) - (events[0]?.at ?? 0)).toBeGreaterThanOrEqual(299)
  })

  test('a doubt that is waited out while another step runs keeps the reason of the failure', async () => {
    const { foothold, worker, query } = await setup()
    const slow = gate()
    let sends = 0
    const parallel = agentOf((task) =>
      Promise.all([
        // Holds the attempt, so that the next try of the effect comes within it.
        task.step('slow', () => slow.opened),
        task.effect('deal', {
          retry: { firstDelayMs: 1, delayMaxMs: 1 },
          findLagMs: 1_000,
          request: {},
          async send() {
            sends += 1
            setTimeout(() => slow.open(), 300)
            throw reset()
          },
          find: async () => 'нашлась',
        }),
      ]),
    )
    await worker([parallel])
    const handle = await foothold.submit(parallel, null)

    expect((await handle.result({ timeoutMs: 10_000 }))[1]).toBe('нашлась')
    expect(sends).toBe(1)
    expect(await query('select reason from foothold.attempts order by attempt')).toEqual([
      { reason: 'crm_unavailable' },
      { reason: 'completed' },
    ])
  })

  test("onDoubt 'stop' gives the unknown outcome to the author, and never sends again", async () => {
    const { foothold, worker } = await setup()
    let sends = 0
    const stopping = agentOf((task) =>
      task.effect('sms', {
        onDoubt: 'stop',
        request: {},
        send: async () => {
          sends += 1
          throw reset()
        },
      }),
    )
    await worker([stopping])

    expect(await (await foothold.submit(stopping, null)).result({ timeoutMs: 10_000 })).toEqual({ outcome: 'unknown' })
    expect(sends).toBe(1)
  })

  test("onDoubt 'ask' waits for a person; told that it did not happen, it is sent again", async () => {
    const world = await setup()
    const { foothold, worker } = world
    let sends = 0
    const asking = agentOf((task) =>
      task.effect('refund', {
        onDoubt: 'ask',
        request: { amount: 500 },
        send: async () => {
          sends += 1
          if (sends === 1) throw reset()
          return 'выплачено'
        },
      }),
    )
    await worker([asking])
    const handle = await foothold.submit(asking, null)
    await waitsForPerson(world)

    await foothold.decide(handle.id, 'refund', { outcome: 'not_done', by: 'Ольга' })

    expect(await handle.result({ timeoutMs: 10_000 })).toBe('выплачено')
    expect(sends).toBe(2)
  })
})

describe.for(['hangs', 'fails'] as const)('whatever the number of tries, when the only one %s', (how) => {
  const effect = {
    request: {},
    timeoutMs: 50,
    retry: { attemptsMax: 1 },
    send: async (): Promise<string> =>
      how === 'hangs' ? new Promise<never>(() => undefined) : Promise.reject(new Error('socket hang up')),
  }

  test("onDoubt 'stop' gives the unknown outcome to the author", async () => {
    const { foothold, worker } = await setup()
    const stopping = agentOf((task) => task.effect('sms', { ...effect, onDoubt: 'stop' }))
    await worker([stopping])

    expect(await (await foothold.submit(stopping, null)).result({ timeoutMs: 10_000 })).toEqual({ outcome: 'unknown' })
  })

  test("onDoubt 'ask' asks a person", async () => {
    const world = await setup()
    const asking = agentOf((task) => task.effect('refund', { ...effect, onDoubt: 'ask' }))
    await world.worker([asking])
    const handle = await world.foothold.submit(asking, null)

    await waitsForPerson(world)

    await world.foothold.decide(handle.id, 'refund', { outcome: 'done', result: 'выплачено', by: 'Ольга' })
    expect(await handle.result({ timeoutMs: 10_000 })).toBe('выплачено')
  })

  test('with a look-up: a dead letter in doubt, and a resume looks before it sends', async () => {
    const { foothold, worker, query } = await setup()
    const events: string[] = []
    const findable = agentOf((task) =>
      task.effect('deal', {
        ...effect,
        findLagMs: 0,
        send: () => {
          events.push('send')
          return effect.send()
        },
        find: async () => {
          events.push('find')
          return 'нашлась'
        },
      }),
    )
    await worker([findable])
    const handle = await foothold.submit(findable, null)
    await expect(handle.result({ timeoutMs: 10_000 })).rejects.toMatchObject({ code: 'TASK_DEAD_LETTER' })
    expect(await query('select status from foothold.agent_steps')).toEqual([{ status: 'intent' }])

    await foothold.resume(handle.id)

    expect(await handle.result({ timeoutMs: 10_000 })).toBe('нашлась')
    expect(events).toEqual(['send', 'find'])
  })
})

test('an answer that comes after the time limit is taken, and nothing is sent a second time for it', async () => {
  const { foothold, worker, query } = await setup()
  const answered = gate()
  const stored = gate()
  let sends = 0
  const late = agentOf((task) =>
    task.effect('deal', {
      request: {},
      timeoutMs: 50,
      // The answer is stored long before the next try would be due.
      retry: { firstDelayMs: 3_000, delayMaxMs: 3_000 },
      keyWindowMs: 60_000,
      async send() {
        sends += 1
        await answered.opened
        return 'с опозданием'
      },
    }),
  )
  // Holds the attempt, so that the late answer still finds it.
  const both = agentOf(async (task, input) => {
    const [, answer] = await Promise.all([
      task.step('рядом', () => stored.opened.then(() => null)),
      late['~code'].run(task, input) as Promise<unknown>,
    ])
    return answer
  })
  await worker([both])
  const handle = await foothold.submit(both, null)
  const isDeal = async (what: string): Promise<boolean> =>
    (await query(`select 1 from foothold.agent_steps where key = 'deal' and ${what}`)).length === 1

  await until('the time limit is stored', () => isDeal('due_at is not null'))
  answered.open()
  await until('the late answer is stored', () => isDeal(`status = 'completed'`))
  stored.open()

  expect(await handle.result({ timeoutMs: 10_000 })).toBe('с опозданием')
  expect(sends).toBe(1)
})

test('an outage of the receiver does not use up the tries of the first real failure after it', async () => {
  const { foothold, worker } = await setup()
  let tries = 0
  const flaky = agentOf((task) =>
    task.step(
      'модель',
      () => {
        tries += 1
        if (tries <= 4) throw new ReasonedError('503', { reason: 'llm_unavailable' })
        if (tries === 5) throw new SyntaxError('не JSON')
        return 'ответ'
      },
      { retry: { attemptsMax: 2, firstDelayMs: 5, delayMaxMs: 5 } },
    ),
  )
  await worker([flaky])

  expect(await (await foothold.submit(flaky, null)).result({ timeoutMs: 15_000 })).toBe('ответ')
})

test('an effect may be an object whose methods use each other', async () => {
  const { foothold, worker } = await setup()
  class Deal {
    readonly request = { title: 'Возврат' }
    readonly findLagMs = 0
    readonly retry = retry
    readonly known = new Set<string>()
    async send({ title }: { readonly title: string }): Promise<string> {
      this.known.add(title)
      throw new Error('socket hang up')
    }
    async find({ title }: { readonly title: string }): Promise<string | null> {
      return this.known.has(title) ? title : null
    }
  }
  const deal = new Deal()
  const asking = agentOf((task) => task.effect('deal', deal))
  await worker([asking])

  expect(await (await foothold.submit(asking, null)).result({ timeoutMs: 10_000 })).toBe('Возврат')
})

describe('a permanent refusal', () => {
  test('is not tried again, and what the receiver said can be read', async () => {
    const { foothold, worker } = await setup()
    let sends = 0
    const refused = agentOf((task) =>
      task.effect('deal', {
        onDoubt: 'repeat',
        request: {},
        send: async () => {
          sends += 1
          throw new TerminalError('400: поле TITLE обязательно', { reason: 'crm_rejected' })
        },
      }),
    )
    await worker([refused])

    const result = (await foothold.submit(refused, null)).result({ timeoutMs: 10_000 })

    await expect(result).rejects.toThrow(/поле TITLE обязательно/)
    expect(sends).toBe(1)
  })
})

describe('code that never settles', () => {
  test('its time limit frees the slot, and another task ends in it', async () => {
    const { foothold, worker, query } = await setup()
    let tries = 0
    const hanging = agentOf(
      (task) =>
        task.step(
          'hang',
          async () => {
            tries += 1
            if (tries < 3) await new Promise(() => undefined)
            return 'дождались'
          },
          { timeoutMs: 100, retry },
        ),
      { name: 'hanging' },
    )
    const quick = agentOf(async () => 'быстро', { name: 'quick' })
    await worker([hanging, quick], { concurrency: 1 })

    const hung = await foothold.submit(hanging, null)
    const behind = await foothold.submit(quick, null)

    expect(await behind.result({ timeoutMs: 10_000 })).toBe('быстро')
    expect(await hung.result({ timeoutMs: 10_000 })).toBe('дождались')
    expect(await query(`select reason from foothold.attempts where task_id = $1 order by attempt`, [hung.id])).toEqual([
      { reason: 'timeout' },
      { reason: 'timeout' },
      { reason: 'completed' },
    ])
  })

  test("outside of any step, the task's deadline ends it", async () => {
    const { foothold, worker } = await setup()
    const endless = agentOf(() => new Promise<never>(() => undefined), { deadlineMs: 200 })
    const running = await worker([endless])

    const handle = await foothold.submit(endless, null)

    await expect(handle.result({ timeoutMs: 10_000 })).rejects.toMatchObject({ details: { reason: 'deadline' } })
    expect(running.running).toBe(0)
  })
})

test('two hundred parallel steps share one attempt without a warning', async () => {
  const { foothold, worker, query } = await setup()
  const warnings: string[] = []
  const warned = (warning: Error): void => void warnings.push(warning.message)
  process.on('warning', warned)
  const wide = agentOf((task) =>
    Promise.all(
      Array.from({ length: 200 }, (_, n) => task.step(`kg-${n}`, async ({ signal }) => (signal.aborted ? -1 : n))),
    ),
  )
  await worker([wide])

  const result = await (await foothold.submit(wide, null)).result({ timeoutMs: 20_000 })

  process.off('warning', warned)
  expect(result).toEqual(Array.from({ length: 200 }, (_, n) => n))
  expect(warnings).toEqual([])
  expect(await query('select count(*)::int as n from foothold.agent_steps')).toEqual([{ n: 200 }])
})
