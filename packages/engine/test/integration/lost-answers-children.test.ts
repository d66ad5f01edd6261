import { describe, expect, test } from 'vitest'
import { startCuttingProxy } from './cutting-proxy.ts'
import { agentOf, gate, setup, until } from './world.ts'

/** As lost-answers-worker.test.ts, for what children and approvals add. Words that stand in one statement only. */
const STATEMENTS = {
  'start of a child': `foothold.new_id(), foothold.clock() from f where not f.is_cancelled`,
  'look at a child': 't.cancel_reason as "cancelReason", p.output',
  "telling of a child's end": 'delete from foothold.children',
  'question to a person': `$4, 'approval', 'waiting'`,
  'look at an answer': 'from foothold.agent_steps s where s.task_id = $1 and s.key = $2',
} as const

describe.for(['before', 'after'] as const)('when the connection breaks %s the statement is carried out', (when) => {
  test.for(Object.entries(STATEMENTS))('a lost answer to the %s changes nothing', async ([, text]) => {
    const world = await setup()
    let runs = 0
    const answered = gate()
    const child = agentOf(
      async (task) => {
        runs += 1
        return task.step('счёт', () => 7)
      },
      { name: 'child' },
    )
    const parent = agentOf(async (task) => {
      const seven = await task.child('дитя', child, null)
      // So that the answer finds the attempt that asked.
      const beside = task.step('рядом', () => answered.opened)
      const [answer] = await Promise.all([task.approval('можно', { title: 'Можно?' }), beside])
      return [seven, answer.decision]
    })
    await using proxy = await startCuttingProxy(world.url)
    const worker = await world.workerAt(proxy.url, [parent, child])
    proxy.cutNext(text, when)
    const handle = await world.foothold.submit(parent, null)
    await until('a question', async () => (await world.foothold.approvals()).length === 1)
    await world.foothold.approve(handle.id, 'можно', { decision: 'approved', by: 'Анна' })
    // The ping tells the attempt of the answer.
    if (text === STATEMENTS['look at an answer']) await until('it is looked at', () => proxy.cuts === 1)
    answered.open()

    expect(await handle.result({ timeoutMs: 20_000 })).toEqual([7, 'approved'])

    expect(proxy.cuts).toBe(1)
    expect(runs).toBe(1)
    expect(await world.query('select agent, status from foothold.tasks order by agent')).toEqual([
      { agent: 'child', status: 'completed' },
      { agent: 'test', status: 'completed' },
    ])
    await until('every end is told', async () => (await world.query('select 1 from foothold.children')).length === 0)
    await until('the worker holds nothing', () => worker.running === 0)
  })
})
