import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Agent, agent, signal, type TaskContext, type TaskId } from '../../src/index.ts'
import { agentOf, gate, setup, until, type World } from './world.ts'

/** One step `plan`; each test deploys another state of its code. */
function planner(options: { readonly step?: number; readonly version?: number; readonly continues?: number[] } = {}) {
  const run = (task: TaskContext): Promise<unknown> => {
    const stepOptions = options.step === undefined ? {} : { version: options.step }
    return task.step('plan', () => `план ${options.step ?? 1}`, stepOptions)
  }
  return agent({ name: 'test', ...options, input: z.unknown(), run: run as never }) as Agent<string, unknown, unknown>
}

/** Stores `plan` and waits for a signal: the code can change under it. */
function waiter(onRun: (task: TaskContext) => void = () => undefined): Agent<string, unknown, unknown> {
  return agentOf(async (task) => {
    onRun(task)
    const plan = await task.step('plan', () => 'план 1')
    await task.waitForSignal('go', signal('go', z.unknown()))
    return plan
  })
}

async function standingOf({ query }: World, id: string): Promise<Record<string, unknown> | undefined> {
  const [row] = await query(
    `select status, waiting_for, last_reason, attempt, retry_count, crash_count, refused_by from foothold.tasks where id = $1`,
    [id],
  )
  return row
}

/** A task that has stored `plan` under r1, and that the code of r2 refuses. */
async function refused(): Promise<World & { readonly id: TaskId }> {
  const world = await setup()
  const { foothold, worker } = world
  const old = await worker([waiter()], { release: 'r1' })
  const { id } = await foothold.submit('test', null)
  await until('it waits', async () => (await foothold.task(id))?.waitingFor === 'signal')
  await old.drain()
  await foothold.sendSignal(id, signal('go', z.unknown()), 1)
  await worker([planner({ step: 2 })], { release: 'r2' })
  await until('it is refused', async () => (await foothold.task(id))?.waitingFor === 'code')
  return { ...world, id }
}

describe('a stored step that the code does not fit', () => {
  test('stops the task once, with budgets untouched and both sides shown', async () => {
    const world = await refused()
    const { foothold, id, log } = world
    // Another worker of the same release knows no better, and a signal is no reason to be refused once more.
    await world.worker([planner({ step: 2 })], { release: 'r2' })
    await foothold.sendSignal(id, signal('go', z.unknown()), 2)
    const other = await foothold.submit(planner({ step: 2 }), null)
    await other.result({ timeoutMs: 10_000 })

    expect(await standingOf(world, id)).toEqual({
      status: 'waiting',
      waiting_for: 'code',
      last_reason: 'code_changed',
      attempt: 2,
      retry_count: 0,
      crash_count: 0,
      refused_by: ['r2'],
    })
    expect((await foothold.task(id))?.error).toEqual({
      code: 'CODE_CHANGED',
      message: expect.stringMatching(
        /step "plan" is stored as a step, version 1, but this code wants a step, version 2/,
      ),
    })
    expect(await foothold.why(id)).toMatchObject({
      why: expect.stringMatching(/step "plan" is stored as .* Refused by r2; none is alive/),
      goesOn: 'in_vain',
      failedStep: 'plan',
      next: [`foothold tasks resume ${id}`, `foothold tasks restart ${id} --from plan`],
    })
    expect(log.filter(({ fields }) => fields['reason'] === 'code_changed')).toHaveLength(1)
  })

  test('goes on by itself with a release that accepts it', async () => {
    const { foothold, worker, id } = await refused()

    await worker([waiter()], { release: 'r3' })

    expect(await foothold.handle(id).result({ timeoutMs: 10_000 })).toBe('план 1')
  })

  test('is tried once by each release that it has not met, and not again by those it has', async () => {
    const world = await refused()
    await world.worker([planner({ step: 3 })], { release: 'r3' })
    await until('refused again', async () => (await standingOf(world, world.id))?.['attempt'] === 3)
    await world.worker([planner({ step: 2 })], { release: 'r2' })
    const other = await world.foothold.submit(planner({ step: 3 }), null)
    await other.result({ timeoutMs: 10_000 })

    expect(await standingOf(world, world.id)).toMatchObject({ attempt: 3, refused_by: ['r2', 'r3'] })
  })

  test('goes on when a person resumes it under code that was mended without another label', async () => {
    const { foothold, worker, id } = await refused()
    await worker([waiter()], { release: 'r2' })

    // The refusing worker may be the first again: then it waits again, and is resumed again.
    await until('it is completed', async () => {
      const task = await foothold.task(id)
      if (task?.waitingFor === 'code') await foothold.resume(id)
      return task?.status === 'completed'
    })
  })

  test('goes on restarted from the step', async () => {
    const { foothold, id } = await refused()

    expect(await foothold.restart(id, { from: 'plan' })).toMatchObject({ forgotten: ['plan', 'go'] })

    expect(await foothold.handle(id).result({ timeoutMs: 10_000 })).toBe('план 2')
  })

  test('can be cancelled', async () => {
    const world = await refused()

    expect(await world.foothold.cancel(world.id)).toEqual({ outcome: 'cancelled', status: 'cancelled' })
    expect(await standingOf(world, world.id)).toMatchObject({ status: 'cancelled', waiting_for: null })
  })

  test('ends the attempt, whatever the code makes of the error', async () => {
    const world = await setup()
    const { foothold, worker } = world
    const old = await worker([waiter()], { release: 'r1' })
    const { id } = await foothold.submit('test', null)
    await until('it waits', async () => (await foothold.task(id))?.waitingFor === 'signal')
    await old.drain()
    let later = 0
    const careless = agentOf(async (task) => {
      await task.step('plan', () => 'план 2', { version: 2 }).catch(() => undefined)
      await task.step('later', () => {
        later += 1
      })
    })
    await worker([careless], { release: 'r2' })
    await foothold.sendSignal(id, signal('go', z.unknown()), 1)

    await until('it is refused', async () => (await foothold.task(id))?.waitingFor === 'code')
    expect(later).toBe(0)
  })
})

describe('a stored input that the schema does not fit', () => {
  const text = z.object({ text: z.string() })
  const inputAgent = (input: z.ZodType, onInput: (input: unknown) => void = () => undefined) =>
    agent({
      name: 'test',
      input: input as z.ZodType<unknown, unknown>,
      async run(task, given) {
        onInput(given)
        await task.step('plan', () => 'план')
        return given as never
      },
    })

  test('is checked again: a field that is new and has a default is there, whoever submitted', async () => {
    const { foothold, worker } = await setup()
    const handle = await foothold.submit(inputAgent(text), { text: 'да' })
    await worker([inputAgent(text.extend({ language: z.string().default('ru') }))])

    expect(await handle.result({ timeoutMs: 10_000 })).toEqual({ text: 'да', language: 'ru' })
  })

  test('is taken as it was checked where the schema transforms: of its own results it knows nothing', async () => {
    const { foothold, worker, query } = await setup()
    const words = z.object({ words: z.string().transform((line) => line.split(' ')) })
    const handle = await foothold.submit(inputAgent(words), { words: 'да нет' })
    await worker([inputAgent(words)])

    expect(await handle.result({ timeoutMs: 10_000 })).toEqual({ words: ['да', 'нет'] })
    expect(await query('select input_stable from foothold.tasks')).toEqual([{ input_stable: false }])
  })

  test('by name: what no code has ever accepted is a dead letter, what one has waits for it', async () => {
    const { foothold, worker } = await setup()
    const gated = gate()
    const accepting = agentOf(async (task) => {
      await task.step('plan', () => 'план')
      await gated.opened
    })
    const old = await worker([accepting], { release: 'r1' })
    const accepted = await foothold.submit('test', { words: 'да' })
    await until('a step is stored', async () => ((await foothold.task(accepted.id))?.steps.length ?? 0) > 0)
    await old.drain({ graceMs: 600 })
    const never = await foothold.submit('test', { words: 'нет' })
    await worker([inputAgent(text)], { release: 'r2' })

    await until('both have met it', async () => {
      const tasks = await Promise.all([foothold.task(accepted.id), foothold.task(never.id)])
      return tasks[0]?.waitingFor === 'code' && tasks[1]?.lastReason === 'input_invalid'
    })
    gated.open()
  })
})

describe('code that continues another version', () => {
  test('makes a task its own with the first step it begins, and the task keeps the version it was submitted for', async () => {
    const world = await setup()
    const { foothold, worker, query } = world
    const versions: number[] = []
    const first = await worker([waiter()], { release: 'r1' })
    const { id } = await foothold.submit('test', null)
    await until('it waits', async () => (await foothold.task(id))?.waitingFor === 'signal')
    await first.drain()
    const gated = gate()
    const two = agentOf(
      async (task) => {
        versions.push(task.version)
        await task.step('plan', () => 'план 2')
        await task.step('more', () => gated.opened)
      },
      { version: 2, continues: [1] },
    )
    const second = await worker([two], { release: 'r2' })
    await foothold.sendSignal(id, signal('go', z.unknown()), 1)
    await until('it has begun a step', async () => {
      const [row] = await query<{ handler: string }>('select handler from foothold.tasks where id = $1', [id])
      return row?.handler === 'test@2'
    })
    await second.drain({ graceMs: 600 })

    // Rolled back: version 1 must not go on with what it cannot know.
    await worker([waiter()], { release: 'r1' })
    const other = await foothold.submit(waiter(), null)
    await until('version 1 works', async () => (await foothold.task(other.id))?.waitingFor === 'signal')
    expect(await foothold.task(id)).toMatchObject({ status: 'pending', version: 2, attempt: 2, errorCount: 0 })

    gated.open()
    await worker([two], { release: 'r3' })
    await foothold.handle(id).result({ timeoutMs: 10_000 })
    expect(versions.length).toBeGreaterThan(1)
    expect(versions.filter((version) => version !== 1)).toEqual([])
  })

  test('leaves a task that it has stored nothing in to the version it was submitted for', async () => {
    const { foothold, worker, query } = await setup()
    const gated = gate()
    const first = await worker([agentOf(() => gated.opened, { version: 2, continues: [1] })], { release: 'r2' })
    const { id } = await foothold.submit(
      agentOf(async () => null),
      null,
    )
    await until('version 2 is at it', async () => (await foothold.task(id))?.status === 'processing')
    await first.drain({ graceMs: 600 })
    gated.open()

    await worker([agentOf(async (task) => task.version)], { release: 'r1' })

    expect(await foothold.handle(id).result({ timeoutMs: 10_000 })).toBe(1)
    expect(await query('select begun_version from foothold.tasks')).toEqual([{ begun_version: null }])
  })

  test('a wait pins as a step does, and restarted from its first step the task is free again', async () => {
    const { foothold, worker, query } = await setup()
    const handlerOf = async (id: string): Promise<unknown> =>
      (await query('select handler from foothold.tasks where id = $1', [id]))[0]?.['handler']
    const asleep = agentOf((task) => task.sleep('пауза', 3_600_000), { version: 2, continues: [1] })
    await worker([asleep])
    const { id } = await foothold.submit(
      agentOf(async () => null),
      null,
    )

    await until('it sleeps', async () => (await foothold.task(id))?.waitingFor === 'sleep')
    expect(await handlerOf(id)).toBe('test@2')

    await foothold.cancel(id)
    await foothold.restart(id, { from: 'пауза' })
    expect(await handlerOf(id)).toBe('test@1')
  })

  test('without `continues` a task waits for its own version, and nobody claims it', async () => {
    const { foothold, worker } = await setup()
    await worker([agentOf(async () => null, { version: 2 })])
    const old = await foothold.submit(
      agentOf(async () => null),
      null,
    )
    const young = await foothold.submit(
      agentOf(async () => null, { version: 2 }),
      null,
    )
    await young.result({ timeoutMs: 10_000 })

    expect(await foothold.task(old.id)).toMatchObject({ status: 'pending', attempt: 0 })
    expect((await foothold.why(old.id))?.why).toBe('no live worker has the handler test@1; none ever had')
  })
})
