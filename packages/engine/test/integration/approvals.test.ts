import { expect, test } from 'vitest'
import type { Approval, TaskId } from '../../src/index.ts'
import { movableClock } from '../../src/testing/index.ts'
import { lockIsAwaited } from './held-sessions.ts'
import { agentOf, gate, setup, until, type World } from './world.ts'

const QUESTION = { title: 'Вернуть 5 000 ₽?', details: 'Заказ 17, клиент недоволен.' }

async function asked(
  world: World,
  { timeoutMs, beside }: { readonly timeoutMs?: number; readonly beside?: Promise<void> } = {},
) {
  const asking = agentOf(async (task) => {
    const [answer] = await Promise.all([
      task.approval('возврат', { ...QUESTION, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
      ...(beside === undefined ? [] : [task.step('рядом', () => beside)]),
    ])
    return answer
  })
  const worker = await world.worker([asking])
  const handle = await world.foothold.submit(asking, null, { tenant: 'ромашка' })
  await until('the question is asked', async () => (await world.foothold.approvals()).length === 1)
  return { handle, worker }
}

const waits = (world: World, id: TaskId) =>
  until('the task waits', async () => (await world.foothold.task(id))?.waitingFor === 'approval')

test('an approval is asked, shown with its question, and answered without a slot', async () => {
  const world = await setup()
  const { handle, worker } = await asked(world)
  await waits(world, handle.id)
  expect(worker.running).toBe(0)
  expect(await world.foothold.approvals()).toEqual([
    {
      taskId: handle.id,
      key: 'возврат',
      agent: 'test',
      tenant: 'ромашка',
      ...QUESTION,
      askedAt: expect.any(Date),
      expiresAt: null,
    },
  ])
  expect((await world.foothold.task(handle.id))?.steps).toMatchObject([{ kind: 'approval', question: QUESTION }])
  expect((await world.foothold.why(handle.id))?.next[0]).toBe(`foothold approve ${handle.id} возврат --by <you>`)

  await world.foothold.approve(handle.id, 'возврат', { decision: 'approved', by: 'Анна', note: 'но в последний раз' })

  const answer = (await handle.result({ timeoutMs: 10_000 })) as Extract<Approval, { by: string }>
  expect(answer).toEqual({ decision: 'approved', by: 'Анна', note: 'но в последний раз', at: expect.any(Date) })
  expect(Math.abs(answer.at.getTime() - Date.now())).toBeLessThan(60_000)
  expect(await world.foothold.approvals()).toEqual([])
  // The question stays beside the answer.
  expect((await world.foothold.task(handle.id))?.steps).toMatchObject([
    { workerId: 'person:Анна', status: 'completed', question: QUESTION },
  ])
})

test('the first answer stands: the same again is silent, another one is told what stands', async () => {
  const world = await setup()
  const { handle } = await asked(world)
  const answer = { decision: 'rejected', by: 'Анна' } as const
  await world.foothold.approve(handle.id, 'возврат', answer)

  await world.foothold.approve(handle.id, 'возврат', answer)
  for (const other of [{ decision: 'approved', by: 'Анна' } as const, { decision: 'rejected', by: 'Борис' } as const]) {
    await expect(world.foothold.approve(handle.id, 'возврат', other)).rejects.toMatchObject({
      code: 'TASK_STATE_CONFLICT',
      message: expect.stringMatching(/was rejected by Анна at \d{4}-/),
    })
  }

  expect(await handle.result({ timeoutMs: 10_000 })).toMatchObject({ decision: 'rejected', by: 'Анна', note: null })
})

test('of two people who answer at the same moment one is told that the other was first', async () => {
  const world = await setup()
  const { handle } = await asked(world)
  await waits(world, handle.id)
  const held = await world.session()
  await held.query('begin')
  await held.query('select 1 from foothold.tasks for update')

  const answers = (['approved', 'rejected'] as const).map((decision) =>
    world.foothold.approve(handle.id, 'возврат', { decision, by: decision }).then(
      () => decision,
      (error: { code: string }) => error.code,
    ),
  )
  await lockIsAwaited(world)
  await held.query('commit')

  const outcomes = await Promise.all(answers)
  const result = (await handle.result({ timeoutMs: 10_000 })) as { decision: string }
  expect(outcomes.toSorted()).toEqual(['TASK_STATE_CONFLICT', result.decision].toSorted())
})

test('an answer that comes while another branch runs is taken by the same attempt', async () => {
  const world = await setup()
  const beside = gate()
  const { handle } = await asked(world, { beside: beside.opened })

  await world.foothold.approve(handle.id, 'возврат', { decision: 'approved', by: 'Анна' })
  beside.open()

  expect(await handle.result({ timeoutMs: 10_000 })).toMatchObject({ decision: 'approved' })
  expect(await world.query('select outcome from foothold.attempts')).toEqual([{ outcome: 'completed' }])
})

test('an approval that nobody gives expires, by the clock of the database, and takes no answer then', async () => {
  const world = await setup()
  const clock = movableClock(world.ownerUrl)
  const { handle } = await asked(world, { timeoutMs: 90 * 86_400_000 })
  await waits(world, handle.id)
  const held = await world.session()
  await held.query('begin')
  await held.query('select 1 from foothold.tasks for update')
  await clock.advance(90 * 86_400_000)

  // Due, and nobody can have noticed: the task is held.
  await expect(
    world.foothold.approve(handle.id, 'возврат', { decision: 'approved', by: 'Анна' }),
  ).rejects.toMatchObject({ code: 'TASK_STATE_CONFLICT', message: expect.stringContaining('expired') })
  await held.query('commit')

  expect(await handle.result({ timeoutMs: 10_000 })).toEqual({ decision: 'expired' })
  await expect(
    world.foothold.approve(handle.id, 'возврат', { decision: 'approved', by: 'Анна' }),
  ).rejects.toMatchObject({ message: expect.stringContaining('expired') })
})

test('what is no open question of that task is refused with what there is', async () => {
  const world = await setup()
  const { handle } = await asked(world)
  const answer = { decision: 'approved', by: 'Анна' } as const

  await expect(world.foothold.approve(handle.id, 'другое', answer)).rejects.toMatchObject({
    code: 'STEP_NOT_FOUND',
    details: { known: ['возврат'] },
  })
  await expect(
    world.foothold.approve('01890000-0000-7000-8000-000000000000' as TaskId, 'возврат', answer),
  ).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  await expect(
    world.foothold.approve(handle.id, 'возврат', { decision: 'perhaps', by: 'Анна' } as never),
  ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  await world.foothold.cancel(handle.id)
  await expect(world.foothold.approve(handle.id, 'возврат', answer)).rejects.toMatchObject({
    code: 'TASK_STATE_CONFLICT',
    details: { status: 'cancelled' },
  })
})
