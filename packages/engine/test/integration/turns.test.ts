import { describe, expect, test } from 'vitest'
import { type Ground, ground } from './limits-world.ts'
import { agentOf, setup, until, type World } from './world.ts'

/** Tenants take turns, and priorities hold, whatever lies in front. */

const BURST = 1_000
const TASK_MS = 300
const SLOTS = 4
/** As many task times without it, and it waits behind the burst. */
const TIMES_MAX = 6

/** From the submit of one tenant's single task behind the burst of another to its start, in task times as they really were. */
async function delay({ foothold, worker, query }: World): Promise<number> {
  const agent = agentOf(async (task) =>
    task.step('work', () => new Promise((resolve) => setTimeout(() => resolve(null), TASK_MS))),
  )
  await Promise.all(Array.from({ length: BURST }, () => foothold.submit(agent, null, { tenant: 'большой' })))
  const working = await worker([agent], { concurrency: SLOTS })
  await until('all slots are taken', () => working.running === SLOTS)
  await foothold.submit(agent, null, { tenant: 'малый' })
  const measure = async (): Promise<{ waited: number | null; taskTime: number; ended: number } | undefined> => {
    const [row] = await query<{ waited: number | null; taskTime: number; ended: number }>(
      `select extract(epoch from max(started_at - created_at) filter (where tenant = 'малый'))::float8 as waited,
         extract(epoch from avg(finished_at - started_at))::float8 as "taskTime", count(finished_at)::int as ended from foothold.tasks`,
    )
    return row
  }
  const { waited, taskTime } = await until('it starts, or the burst goes on without it', async () => {
    const seen = await measure()
    const isOver = (seen?.waited ?? null) !== null || (seen?.ended ?? 0) >= SLOTS * TIMES_MAX
    return isOver && (seen?.ended ?? 0) >= SLOTS ? seen : null
  })
  return waited === null ? Number.POSITIVE_INFINITY : waited / taskTime
}

describe(`a burst of ${BURST} from one tenant`, () => {
  test("delays another tenant's single task by less than two task times", async () => {
    const times = await delay(await setup())
    console.log(`started after ${times.toFixed(2)} task times`)
    expect(times).toBeLessThan(2)
  })

  test('control: without turns it waits behind the whole burst', async () => {
    const world = await setup()
    await world.query('alter table foothold.tasks alter column takes_turns set default false')
    expect(await delay(world)).toBe(Number.POSITIVE_INFINITY)
  })
})

async function backlog(at: Ground, tenant: string, count: number, priority = 1): Promise<void> {
  await at.query(
    `insert into foothold.tasks (id, agent, handler, status, priority, run_at, tenant, deadline_ms, created_at)
     select foothold.new_id(), 'test', 'test@1', 'pending', $3, clock_timestamp() - interval '1 hour', $1, 900000, clock_timestamp()
     from generate_series(1, $2::int) n`,
    [tenant, count, priority],
  )
}

async function claimedOf(at: Ground, ids: readonly { readonly id: string }[]): Promise<Record<string, number>> {
  const rows = await at.query<{ tenant: string; n: number }>(
    `select tenant, count(*)::int as n from foothold.tasks where id = any($1::uuid[]) group by tenant`,
    [ids.map(({ id }) => id)],
  )
  return Object.fromEntries(rows.map(({ tenant, n }) => [tenant, n]))
}

test('slots are shared among the tenants that wait, and whoever runs least comes first', async () => {
  const at = await ground()
  await at.register('worker')
  await backlog(at, 'а', 100)
  await backlog(at, 'б', 100)
  await backlog(at, 'в', 2)

  expect(await claimedOf(at, (await at.claim('worker', 12)).claimed)).toEqual({ а: 5, б: 5, в: 2 })
  await backlog(at, 'г', 100)
  expect(await claimedOf(at, (await at.claim('worker', 2)).claimed)).toEqual({ г: 2 })
})

test('forty tenants with a backlog each all get their turn', async () => {
  const at = await ground()
  await at.register('worker')
  for (let n = 0; n < 40; n += 1) await backlog(at, `клиент ${n}`, 20)
  const seen: Record<string, number> = {}
  let turn = { afterLane: '', afterTenant: '' }
  for (let round = 0; round < 40; round += 1) {
    const { claimed, nextTurn } = await at.claim('worker', 4, at.db, { turn })
    turn = nextTurn ?? turn
    for (const [tenant, n] of Object.entries(await claimedOf(at, claimed))) seen[tenant] = (seen[tenant] ?? 0) + n
  }

  expect(Object.keys(seen)).toHaveLength(40)
  expect(Math.max(...Object.values(seen))).toBeLessThanOrEqual(8)
})

test("the claim finds another tenant's task behind a hundred thousand of one in the time of an empty one", async () => {
  const at = await ground()
  await at.register('worker')
  const time = async (): Promise<number> => {
    const spent: number[] = []
    for (let n = 0; n < 9; n += 1) {
      const startedAt = performance.now()
      await at.claim('worker', 4)
      spent.push(performance.now() - startedAt)
    }
    return spent.sort((a, b) => a - b)[4] as number
  }
  await backlog(at, 'большой', 50)
  await backlog(at, 'малый', 50)
  const few = await time()
  await backlog(at, 'большой', 100_000)
  await at.query('vacuum analyze foothold.tasks')
  const many = await time()
  await backlog(at, 'третий', 1)

  const { claimed } = await at.claim('worker', 1)

  console.log(`a claim in turn among 100 tasks: ${few.toFixed(1)} ms, among 100,100: ${many.toFixed(1)} ms`)
  expect(await claimedOf(at, claimed)).toEqual({ третий: 1 })
  expect(many).toBeLessThan(5 * few)
}, 60_000)

test('live goes before normal and batch, and a batch task is not starved: every tenth claim goes by age', async () => {
  const { foothold, worker } = await setup()
  const order: string[] = []
  const agent = agentOf(async (_task, input) => {
    order.push(String(input))
    return null
  })
  const batch = await foothold.submit(agent, 'batch', { priority: 'batch' })
  const live = await Promise.all(Array.from({ length: 60 }, () => foothold.submit(agent, 'live', { priority: 'live' })))

  await worker([agent], { concurrency: 1 })
  await Promise.all([batch, ...live].map((handle) => handle.result({ timeoutMs: 30_000 })))

  expect(order[0]).toBe('live')
  // Older than all of them, it has its turn with the first claim by age, and not with the first claim.
  expect(order.indexOf('batch')).toBeGreaterThan(0)
  expect(order.indexOf('batch')).toBeLessThan(12)
})
