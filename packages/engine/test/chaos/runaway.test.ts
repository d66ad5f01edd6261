import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { agentOf, setup, until } from '../integration/world.ts'

/** Code of tasks that breaks the rules: its own task may fail for it, its process and its neighbours may not. */

const ENTRY = fileURLToPath(new URL('./runaway-process.ts', import.meta.url))

async function startRunaway(url: string, mode?: 'thread-dies'): Promise<ChildProcess> {
  const child = fork(ENTRY, mode === undefined ? [url] : [url, mode], {
    execArgv: ['--conditions=@foothold/source', '--import', 'tsx'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  onTestFinished(async () => {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null
    child.kill('SIGKILL')
    await exited
  })
  await once(child, 'message')
  return child
}

test('branches that nobody awaits end neither the process nor the task', async () => {
  const { url, foothold, query } = await setup()
  const child = await startRunaway(url)

  const handle = await foothold.submit('stray', null)

  expect(await handle.result({ timeoutMs: 10_000 })).toBe('готово')
  const again = await foothold.submit('stray', null)
  expect(await again.result({ timeoutMs: 10_000 })).toBe('готово')
  expect(child.exitCode).toBeNull()
  expect(await query(`select distinct worker_id from foothold.attempts`)).toHaveLength(1)
  expect(await query(`select 1 from foothold.agent_steps where key = 'поздно'`)).toEqual([])
})

test('code that swallows every refusal and calls again is ended by its deadline, and others go on beside it', async () => {
  const { url, foothold } = await setup()
  const child = await startRunaway(url)

  const stubborn = await foothold.submit('stubborn', null)

  await expect(stubborn.result({ timeoutMs: 10_000 })).rejects.toMatchObject({ details: { reason: 'deadline' } })
  // Its run is still about; the process is not its own.
  expect(await (await foothold.submit('stray', null)).result({ timeoutMs: 10_000 })).toBe('готово')
  expect(child.exitCode).toBeNull()
})

test('a main loop that never comes back is ended by its own thread, and a neighbour has its tasks', async () => {
  const { url, foothold, query, worker } = await setup()
  const child = await startRunaway(url)
  const ended = once(child, 'exit')
  const spins = once(child, 'message')
  const handle = await foothold.submit('spinning', null)
  await spins
  const [first] = await query<{ worker_id: string }>('select worker_id from foothold.tasks')

  await worker([agentOf(async () => 'на другом', { name: 'spinning' })])

  // For six leases its own thread speaks for it.
  expect(await ended).toEqual([null, 'SIGKILL'])
  expect(await handle.result({ timeoutMs: 25_000 })).toBe('на другом')
  await until('it counts as lost', async () => {
    const rows = await query(`select 1 from foothold.workers where id = $1 and status = 'lost'`, [first?.worker_id])
    return rows.length === 1
  })
}, 60_000)

test('a worker whose heartbeat thread dies drains, and its process ends, non-zero, so that another one can begin', async () => {
  const { url, query } = await setup()

  const child = await startRunaway(url, 'thread-dies')
  const [code] = await once(child, 'exit')

  expect(code).toBe(1)
  expect(await query('select status from foothold.workers')).toEqual([{ status: 'stopped' }])
})
