import { expect, test } from 'vitest'
import { loadTasks } from '../../src/store/claim.ts'
import { openDatabase } from '../../src/store/database.ts'
import { agentOf, gate, setup, until } from './world.ts'

/** As many claims as a worker has slots must not fill it with what their tasks stored hours ago. */

const LARGE = 'я'.repeat(300_000)
const SMALL = 'да'

test('a result over 256 kB is not loaded with the claim but when its step is reached', async () => {
  const { foothold, worker, query, url } = await setup()
  const gated = gate()
  const calls: string[] = []
  const stored = async (key: string, value: string): Promise<string> => {
    calls.push(key)
    return value
  }
  const agent = agentOf(async (task) => {
    const large = await task.step('large', () => stored('large', LARGE))
    const compressible = await task.step('compressible', () => stored('compressible', ' '.repeat(5_000_000)))
    const small = await task.step('small', () => stored('small', SMALL))
    await task.step('wait', () => gated.opened)
    return [large.length, compressible.length, small.length]
  })
  const first = await worker([agent])
  const { id } = await foothold.submit(agent, null)
  await until('all is stored', () => calls.includes('small'))
  await until('all is stored', async () => (await foothold.task(id))?.steps.length === 3)
  await first.drain({ graceMs: 600 })
  gated.open()

  await query(
    `update foothold.tasks set status = 'processing', worker_id = 'w', claimed_at = clock_timestamp() where id = $1`,
    [id],
  )
  const db = openDatabase({ url, poolSize: 1 })
  const [loaded] = await loadTasks(db, 'w', [id], new AbortController().signal)
  await db.close()
  await query(`update foothold.tasks set status = 'pending', worker_id = null where id = $1`, [id])
  expect(JSON.stringify(loaded).length).toBeLessThan(4_000)
  expect(Object.fromEntries(loaded?.steps.map(({ key, output }) => [key, output]) ?? [])).toEqual({
    large: null,
    compressible: null,
    small: JSON.stringify(SMALL),
  })

  await worker([agent])
  expect(await foothold.handle(id).result({ timeoutMs: 10_000 })).toEqual([300_000, 5_000_000, 2])
  expect(calls).toEqual(['large', 'compressible', 'small'])
})
