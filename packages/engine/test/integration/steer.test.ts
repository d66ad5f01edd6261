import { expect, test } from 'vitest'
import { z } from 'zod'
import { newTaskId } from '../../src/client/new-id.ts'
import { signal } from '../../src/protocol/agent.ts'
import type { TaskId } from '../../src/protocol/task-context.ts'
import { promoteTasks } from '../../src/store/promote.ts'
import { storeSignal } from '../../src/store/signals-in.ts'
import { requestCancel, restartTask, resumeTask } from '../../src/store/steer.ts'
import { consumeSignal, type Fence, storeIntent } from '../../src/store/steps.ts'
import { support, untilWaiting, type World, worlds } from './client-world.ts'

const openWorld = worlds()

const paid = signal('paid', z.object({ amount: z.number(), note: z.string().default('без примечания') }))
const options = { doing: 'testing' }

async function submitted(world: World): Promise<TaskId> {
  return (await world.client.submit(support, { text: 'Где мой заказ?' })).id
}

async function processing(world: World): Promise<Fence & { id: TaskId }> {
  const id = await submitted(world)
  return { ...(await world.hand.claim(id)), id }
}

async function deadLetter(world: World): Promise<Fence & { id: TaskId }> {
  const fence = await processing(world)
  await world.hand.step(fence, { key: 'plan', output: '1' })
  await world.hand.step(fence, { key: 'generate', status: 'failed', tries: 5, retryable: false })
  await world.hand.deadLetter(fence, 'llm_refused')
  return fence
}

async function waitsForPerson(world: World): Promise<Fence & { id: TaskId }> {
  const fence = await processing(world)
  const promise = { keyWindowMs: null, onDoubt: 'ask' } as const
  const intent = {
    key: 'tool_call:1',
    version: 1,
    tries: 1,
    request: '{}',
    idempotencyKey: 'k',
    doubtForMs: 1_000,
    promise,
  }
  await storeIntent(world.db, fence, intent, options)
  await world.hand.step(fence, { key: 'tool_call:1', kind: 'effect', status: 'unknown' })
  await world.hand.park(fence, { waitingFor: 'person', reason: 'effect_unknown' })
  return fence
}

// ---- cancel ---------------------------------------------------------------------------------------------------------

test('a pending task is cancelled at once, with the reason that was given', async () => {
  await using world = await openWorld()
  const id = await submitted(world)

  expect(await world.client.cancel(id, { reason: 'клиент передумал\u0000' })).toEqual({
    outcome: 'cancelled',
    status: 'cancelled',
  })

  expect(await world.client.handle(id).state()).toEqual({ status: 'cancelled', reason: 'клиент передумал\u2400' })
  const task = await world.client.task(id)
  expect(task?.finishedAt).toBeInstanceOf(Date)
  expect(task?.attempts).toEqual([])
})

test('a waiting task is cancelled at once and never wakes', async () => {
  await using world = await openWorld()
  const fence = await processing(world)
  await world.hand.park(fence, { waitingFor: 'sleep', wakeInMs: 1 })

  expect(await world.client.cancel(fence.id)).toMatchObject({ outcome: 'cancelled' })

  expect((await promoteTasks(world.db)).count).toBe(0)
  expect(await world.client.task(fence.id)).toMatchObject({ status: 'cancelled', waitingFor: null, wakeAt: null })
})

test('a dead letter is cancelled at once', async () => {
  await using world = await openWorld()
  const { id } = await deadLetter(world)

  expect(await world.client.cancel(id)).toEqual({ outcome: 'cancelled', status: 'cancelled' })
})

test('a processing task is asked to stop, and the first reason stays', async () => {
  await using world = await openWorld()
  const { id } = await processing(world)

  expect(await world.client.cancel(id, { reason: 'первая' })).toEqual({ outcome: 'requested', status: 'processing' })
  expect(await world.client.cancel(id, { reason: 'вторая' })).toEqual({ outcome: 'requested', status: 'processing' })

  const rows = await world.sql.query('select status, cancel_reason, wake_seq from foothold.tasks')
  expect(rows.rows).toEqual([{ status: 'processing', cancel_reason: 'первая', wake_seq: 2 }])
  expect((await world.client.task(id))?.cancelRequestedAt).toBeInstanceOf(Date)
})

test('a task that has ended stays as it is, and the answer says so', async () => {
  await using world = await openWorld()
  const fence = await processing(world)
  await world.hand.complete(fence, { answer: 'да' })
  const other = await submitted(world)
  await world.client.cancel(other)

  expect(await world.client.cancel(fence.id)).toEqual({ outcome: 'already_ended', status: 'completed' })
  expect(await world.client.cancel(other)).toEqual({ outcome: 'already_ended', status: 'cancelled' })
})

test('a cancel that waits behind the completion of the task lets it win', async () => {
  await using world = await openWorld()
  const fence = await processing(world)
  await world.sql.query('begin')
  await world.sql.query(
    `update foothold.tasks set status = 'completed', worker_id = null, finished_at = now() where id = $1`,
    [fence.id],
  )
  const cancel = world.client.cancel(fence.id)
  await untilWaiting(world, 'cancel_requested_at')
  await world.sql.query('commit')

  expect(await cancel).toEqual({ outcome: 'already_ended', status: 'completed' })
})

test('a cancel of a pending task that is being claimed becomes a request', async () => {
  await using world = await openWorld()
  const id = await submitted(world)
  await world.sql.query('begin')
  await world.sql.query(
    `update foothold.tasks set status = 'processing', attempt = 1, worker_id = 'w', claimed_at = now() where id = $1`,
    [id],
  )
  const cancel = world.client.cancel(id)
  await untilWaiting(world, 'cancel_requested_at')
  await world.sql.query('commit')

  expect(await cancel).toEqual({ outcome: 'requested', status: 'processing' })
})

test('a cancel forbids a wait that its worker was about to begin', async () => {
  await using world = await openWorld()
  const fence = await processing(world)
  await world.client.cancel(fence.id)

  expect(await world.hand.park(fence, { waitingFor: 'sleep', wakeInMs: 1_000 })).toBe(false)
})

test('a cancel that was sent twice after a lost answer does no more than one', async () => {
  await using world = await openWorld()
  const id = await submitted(world)

  expect(await requestCancel(world.db, id, 'причина')).toEqual({ status: 'cancelled' })
  expect(await requestCancel(world.db, id, 'причина')).toBeNull()

  expect(await world.client.handle(id).state()).toEqual({ status: 'cancelled', reason: 'причина' })
})

// ---- resume ---------------------------------------------------------------------------------------------------------

test('a resumed dead letter keeps what it finished and gets fresh budgets', async () => {
  await using world = await openWorld()
  const { id, attempt } = await deadLetter(world)
  await world.sql.query(`update foothold.tasks set crash_count = 2, crashes_total = 9, suspect = true`)

  await world.client.resume(id)

  const task = await world.client.task(id)
  expect(task).toMatchObject({
    status: 'pending',
    attempt,
    errorCount: 0,
    crashCount: 0,
    error: null,
    finishedAt: null,
    deadlineAt: null,
  })
  expect(task?.steps).toMatchObject([
    { key: 'plan', status: 'completed', output: 1 },
    { key: 'generate', status: 'failed', tries: 0 },
  ])
  const rows = await world.sql.query('select suspect, crashes_total from foothold.tasks')
  expect(rows.rows).toEqual([{ suspect: false, crashes_total: 0 }])
  expect((await world.hand.claim(id)).attempt).toBe(attempt + 1)
})

test('pressing resume twice at once gives one new attempt and no error', async () => {
  await using world = await openWorld()
  const { id } = await deadLetter(world)
  // Both presses have seen the dead letter before either is carried out.
  await world.sql.query('begin')
  await world.sql.query('select 1 from foothold.tasks where id = $1 for update', [id])
  const presses = [world.client.resume(id), world.client.resume(id)]
  await untilWaiting(world, 'crashes_total', 2)
  await world.sql.query('commit')

  await Promise.all(presses)

  const fence = await world.hand.claim(id)
  await expect(world.hand.claim(id)).rejects.toThrow('claimed []')
  await world.hand.complete(fence, 1)
  expect((await world.client.task(id))?.attempts).toHaveLength(2)
})

test('a resume whose answer was lost is told from a refusal, even when the task has failed again since', async () => {
  await using world = await openWorld()
  const { id, attempt } = await deadLetter(world)
  expect(await resumeTask(world.db, id, attempt)).toEqual({ handler: 'support@3' })
  await world.hand.deadLetter(await world.hand.claim(id), 'llm_refused')

  expect(await resumeTask(world.db, id, attempt)).toBeNull()

  expect(await world.client.task(id)).toMatchObject({ status: 'dead_letter', attempt: attempt + 1 })
})

test('only a dead letter can be resumed', async () => {
  await using world = await openWorld()
  const id = await submitted(world)

  await expect(world.client.resume(id)).rejects.toMatchObject({
    code: 'TASK_STATE_CONFLICT',
    details: { taskId: id, status: 'pending' },
  })
})

// ---- restart --------------------------------------------------------------------------------------------------------

test('a restart forgets the step and every later one, and says which effects it may repeat', async () => {
  await using world = await openWorld()
  const fence = await processing(world)
  await world.hand.step(fence, { key: 'retrieve' })
  await world.hand.step(fence, { key: 'plan' })
  await world.hand.step(fence, { key: 'tool_call:1', kind: 'effect' })
  await world.hand.step(fence, { key: 'tool_call:2', kind: 'effect', status: 'failed' })
  await world.hand.step(fence, { key: 'generate' })
  await world.hand.chunk(fence, { key: 'generate', tries: 1, seq: 0, text: 'ответ' })
  await world.hand.chunk(fence, { key: 'plan', tries: 1, seq: 0, text: 'план' })
  await world.hand.complete(fence, { answer: 'да' })

  const report = await world.client.restart(fence.id, { from: 'tool_call:1' })

  expect(report).toEqual({
    forgotten: ['tool_call:1', 'tool_call:2', 'generate'],
    repeatedEffects: ['tool_call:1'],
  })
  const task = await world.client.task(fence.id)
  expect(task).toMatchObject({ status: 'pending', output: null, finishedAt: null })
  expect(task?.steps.map((step) => step.key)).toEqual(['retrieve', 'plan'])
  const chunks = await world.sql.query('select key from foothold.stream_chunks')
  expect(chunks.rows).toEqual([{ key: 'plan' }])
})

test('a restarted wait takes the signal that it had taken', async () => {
  await using world = await openWorld()
  const fence = await processing(world)
  await world.client.sendSignal(fence.id, paid, { amount: 5, note: '' })
  const signals = await world.sql.query('select id from foothold.signals')
  await consumeSignal(world.db, fence, { key: 'оплата', signalId: signals.rows[0].id, output: '{"amount":5}' }, options)
  await world.hand.deadLetter(fence, 'step_failed')

  await world.client.restart(fence.id, { from: 'оплата' })

  const rows = await world.sql.query('select consumed_by from foothold.signals')
  expect(rows.rows).toEqual([{ consumed_by: null }])
})

test('a restart from a step that is not there names the steps that are, and changes nothing', async () => {
  await using world = await openWorld()
  const { id } = await deadLetter(world)

  await expect(world.client.restart(id, { from: 'planning' })).rejects.toMatchObject({
    code: 'STEP_NOT_FOUND',
    details: { key: 'planning', known: ['plan', 'generate'] },
  })
  expect(await world.client.task(id)).toMatchObject({ status: 'dead_letter' })
})

test('a task that is under way cannot be restarted', async () => {
  await using world = await openWorld()
  const fence = await processing(world)
  await world.hand.step(fence, { key: 'plan' })

  await expect(world.client.restart(fence.id, { from: 'plan' })).rejects.toMatchObject({
    code: 'TASK_STATE_CONFLICT',
    details: { status: 'processing' },
  })
})

test('restarting twice at once forgets the steps once', async () => {
  await using world = await openWorld()
  const { id } = await deadLetter(world)
  await world.sql.query('begin')
  await world.sql.query('select 1 from foothold.tasks where id = $1 for update', [id])
  const presses = [world.client.restart(id, { from: 'plan' }), world.client.restart(id, { from: 'plan' })]
  await untilWaiting(world, 'regexp_replace', 2)
  await world.sql.query('commit')

  const reports = await Promise.all(presses)

  expect(reports[0]).toEqual(reports[1])
  expect(await world.client.task(id)).toMatchObject({ status: 'pending', steps: [] })
})

test('a restart whose answer was lost forgets nothing of what has run since, ended or not', async () => {
  await using world = await openWorld()
  const { id, attempt } = await deadLetter(world)
  expect(await restartTask(world.db, id, attempt, ['plan', 'generate'])).toEqual({ handler: 'support@3' })
  expect(await restartTask(world.db, id, attempt, ['plan', 'generate'])).toBeNull()
  const fence = await world.hand.claim(id)
  await world.hand.step(fence, { key: 'plan' })
  expect(await restartTask(world.db, id, attempt, ['plan', 'generate'])).toBeNull()
  await world.hand.complete(fence, { answer: 'да' })

  expect(await restartTask(world.db, id, attempt, ['plan', 'generate'])).toBeNull()

  expect(await world.client.task(id)).toMatchObject({
    status: 'completed',
    output: { answer: 'да' },
    steps: [{ key: 'plan', status: 'completed' }],
  })
})

// ---- decide ---------------------------------------------------------------------------------------------------------

test('a person who says that an effect was done gives its result, and the task wakes', async () => {
  await using world = await openWorld()
  const { id } = await waitsForPerson(world)

  await world.client.decide(id, 'tool_call:1', { outcome: 'done', result: { deal: 9007199254740993n }, by: 'Анна' })

  const task = await world.client.task(id)
  expect(task).toMatchObject({ status: 'pending', waitingFor: null })
  expect(task?.steps).toMatchObject([
    { status: 'completed', output: { deal: 9007199254740993n }, workerId: 'person:Анна', error: null },
  ])
})

test('a person who says that it was not done has it sent again under a new key, with fresh tries', async () => {
  await using world = await openWorld()
  const { id } = await waitsForPerson(world)

  await world.client.decide(id, 'tool_call:1', { outcome: 'not_done', by: 'Анна' })

  const task = await world.client.task(id)
  expect(task?.status).toBe('pending')
  expect(task?.steps).toMatchObject([{ status: 'failed', tries: 0, error: { code: 'DECIDED_NOT_DONE' } }])
  const rows = await world.sql.query('select refusals, retryable, doubt_until, due_at from foothold.agent_steps')
  expect(rows.rows).toEqual([{ refusals: 1, retryable: true, doubt_until: null, due_at: null }])
})

test('a decision that has no result stores null', async () => {
  await using world = await openWorld()
  const { id } = await waitsForPerson(world)

  await world.client.decide(id, 'tool_call:1', { outcome: 'done', result: null, by: 'Анна' })

  expect((await world.client.task(id))?.steps).toMatchObject([{ status: 'completed', output: null }])
})

test.for(['done', 'not_done'] as const)('the same decision by two people at once (%s) counts once', async (outcome) => {
  await using world = await openWorld()
  const { id } = await waitsForPerson(world)
  const decision = { outcome, result: { deal: 1 }, by: 'Анна' } as const
  await world.sql.query('begin')
  await world.sql.query('select 1 from foothold.tasks where id = $1 for update', [id])
  const words = [
    world.client.decide(id, 'tool_call:1', decision),
    world.client.decide(id, 'tool_call:1', { ...decision, by: 'Борис' }),
  ]
  await untilWaiting(world, 'refusals', 2)
  await world.sql.query('commit')

  await Promise.all(words)

  const rows = await world.sql.query('select refusals from foothold.agent_steps')
  expect(rows.rows).toEqual([{ refusals: outcome === 'done' ? 0 : 1 }])
})

test('a second decision, another one, is refused', async () => {
  await using world = await openWorld()
  const { id } = await waitsForPerson(world)
  await world.client.decide(id, 'tool_call:1', { outcome: 'done', result: 1, by: 'Анна' })

  await expect(world.client.decide(id, 'tool_call:1', { outcome: 'not_done', by: 'Борис' })).rejects.toMatchObject({
    code: 'TASK_STATE_CONFLICT',
  })
})

test('a decision on a step that is not in doubt, or not there, is refused', async () => {
  await using world = await openWorld()
  const fence = await processing(world)
  await world.hand.step(fence, { key: 'plan' })
  await world.hand.park(fence, { waitingFor: 'person' })

  await expect(world.client.decide(fence.id, 'plan', { outcome: 'not_done', by: 'Анна' })).rejects.toMatchObject({
    code: 'TASK_STATE_CONFLICT',
  })
  await expect(world.client.decide(fence.id, 'звонок', { outcome: 'not_done', by: 'Анна' })).rejects.toMatchObject({
    code: 'STEP_NOT_FOUND',
    details: { known: ['plan'] },
  })
})

// ---- signals --------------------------------------------------------------------------------------------------------

test('a signal wakes a waiting task, and is what its schema made of it', async () => {
  await using world = await openWorld()
  const fence = await processing(world)
  await world.hand.park(fence, { waitingFor: 'signal', branches: [{ key: 'оплата', kind: 'signal', dueInMs: null }] })

  await world.client.sendSignal(fence.id, paid, { amount: 5 } as never)

  expect(await world.client.task(fence.id)).toMatchObject({ status: 'pending', waitingFor: null, wakeAt: null })
  const rows = await world.sql.query('select name, payload from foothold.signals')
  expect(rows.rows).toEqual([{ name: 'paid', payload: { amount: 5, note: 'без примечания' } }])
})

test('a signal sent while its task is about to wait forbids the wait', async () => {
  await using world = await openWorld()
  const fence = await processing(world)
  const wait = { waitingFor: 'signal', wakeSeqSeen: 0 } as const

  await world.client.sendSignal(fence.id, paid, { amount: 5, note: '' })

  expect(await world.hand.park(fence, wait)).toBe(false)
})

test('a signal sent twice under one key is stored once', async () => {
  await using world = await openWorld()
  const id = await submitted(world)

  await Promise.all(
    [1, 2].map((amount) => world.client.sendSignal(id, paid, { amount, note: '' }, { dedupeKey: 'платёж-7' })),
  )

  const rows = await world.sql.query('select dedupe_key from foothold.signals')
  expect(rows.rows).toEqual([{ dedupe_key: 'платёж-7' }])
})

test('a signal whose answer was lost is sent again without a second one, also when its task has ended since', async () => {
  await using world = await openWorld()
  const id = await submitted(world)
  const insert = { taskId: id, name: 'paid', payload: '1', dedupeKey: 'k' }
  await storeSignal(world.db, insert)
  await storeSignal(world.db, insert)
  expect((await world.sql.query('select 1 from foothold.signals')).rowCount).toBe(1)
  await world.client.cancel(id)

  await world.client.sendSignal(id, paid, { amount: 1, note: '' }, { dedupeKey: 'k' })

  expect((await world.sql.query('select 1 from foothold.signals')).rowCount).toBe(1)
})

test('two signals without a key are two signals', async () => {
  await using world = await openWorld()
  const id = await submitted(world)

  await world.client.sendSignal(id, paid, { amount: 1, note: '' })
  await world.client.sendSignal(id, paid, { amount: 1, note: '' })

  expect((await world.sql.query('select 1 from foothold.signals')).rowCount).toBe(2)
})

test('a signal is stored for a dead letter without moving it, and refused by a task that has ended', async () => {
  await using world = await openWorld()
  const { id } = await deadLetter(world)
  await world.client.sendSignal(id, paid, { amount: 5, note: '' })
  expect(await world.client.task(id)).toMatchObject({ status: 'dead_letter' })
  await world.client.cancel(id)

  await expect(world.client.sendSignal(id, paid, { amount: 5, note: '' })).rejects.toMatchObject({
    code: 'TASK_STATE_CONFLICT',
    details: { status: 'cancelled' },
  })
})

test('a signal does not start a task before its time', async () => {
  await using world = await openWorld()
  const runAt = new Date(Date.now() + 3_600_000)
  const { id } = await world.client.submit(support, { text: 'а' }, { runAt })

  await world.client.sendSignal(id, paid, { amount: 5, note: '' })

  expect(await world.client.task(id)).toMatchObject({ status: 'waiting', waitingFor: 'start', wakeAt: runAt })
})

test('a signal that does not fit its schema is refused by its path', async () => {
  await using world = await openWorld()
  const id = await submitted(world)

  await expect(world.client.sendSignal(id, paid, { amount: '5' } as never)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    details: { field: 'payload', problem: expect.stringContaining('amount') },
  })
})

test.for(['задача', newTaskId(), '', "'; drop table foothold.tasks"])(
  'an id without a task is not found, whatever it is: %s',
  async (id) => {
    await using world = await openWorld()
    const wrong = id as TaskId
    const notFound = { code: 'TASK_NOT_FOUND', details: { taskId: id } }

    await expect(world.client.cancel(wrong)).rejects.toMatchObject(notFound)
    await expect(world.client.resume(wrong)).rejects.toMatchObject(notFound)
    await expect(world.client.restart(wrong, { from: 'plan' })).rejects.toMatchObject(notFound)
    await expect(world.client.decide(wrong, 'k', { outcome: 'not_done', by: 'Анна' })).rejects.toMatchObject(notFound)
    await expect(world.client.sendSignal(wrong, paid, { amount: 1, note: '' })).rejects.toMatchObject(notFound)
    await expect(world.client.handle(wrong).state()).rejects.toMatchObject(notFound)
    await expect(world.client.handle(wrong).result()).rejects.toMatchObject(notFound)
    expect(await world.client.task(wrong)).toBeNull()
  },
)
