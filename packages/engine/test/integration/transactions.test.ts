import { expect, test } from 'vitest'
import { TerminalError } from '../../src/index.ts'
import { agentOf, gate, setup, until } from './world.ts'

const retry = { firstDelayMs: 10, delayMaxMs: 20 }

test('what the code of a transaction throws keeps its meaning, whatever its words', async () => {
  const { foothold, worker, query } = await setup()
  await query('create table books (text text)')
  let ran = 0
  const refusing = agentOf((task) =>
    task.transaction('запись', async (sql) => {
      ran += 1
      await sql.query('insert into books values ($1)', ['половина'])
      throw new TerminalError('connection of this client was refused: timeout of the contract', {
        reason: 'crm_rejected',
      })
    }),
  )
  await worker([refusing])

  const result = (await foothold.submit(refusing, null)).result({ timeoutMs: 10_000 })

  await expect(result).rejects.toMatchObject({ details: { reason: 'crm_rejected' } })
  expect(ran).toBe(1)
  expect(await query('select 1 from books')).toEqual([])
})

test('tries that run out of time while they wait for a session leave the sessions to others', async () => {
  const { foothold, worker, query } = await setup()
  await query('create table books (text text)')
  const inside = gate()
  const leave = gate()
  let holders = 0
  const holding = agentOf(
    (task) =>
      task.transaction('держит', async () => {
        holders += 1
        if (holders === 10) inside.open()
        await leave.opened
      }),
    { name: 'holding' },
  )
  const waiting = agentOf((task) => task.transaction('ждёт', async () => 'дождалась', { retry }), { name: 'waiting' })
  const cancelled = agentOf((task) => task.transaction('отменена', async () => 'не должна'), { name: 'cancelled' })
  await worker([holding, waiting, cancelled], { concurrency: 100 })
  // All ten sessions are taken.
  const held = await Promise.all(Array.from({ length: 10 }, () => foothold.submit(holding, null)))
  await inside.opened
  const doomed = await Promise.all(Array.from({ length: 10 }, () => foothold.submit(cancelled, null)))
  await until('they wait for a session', async () => {
    const rows = await query<{ n: number }>(`select count(*)::int as n from foothold.tasks where status = 'processing'`)
    return rows[0]?.n === 20
  })
  for (const task of doomed) await foothold.cancel(task.id)
  await until('they are cancelled', async () => {
    const rows = await query<{ n: number }>(`select count(*)::int as n from foothold.tasks where status = 'cancelled'`)
    return rows[0]?.n === 10
  })
  leave.open()
  await Promise.all(held.map((task) => task.result({ timeoutMs: 10_000 })))

  const after = await Promise.all(Array.from({ length: 10 }, () => foothold.submit(waiting, null)))

  expect(await Promise.all(after.map((task) => task.result({ timeoutMs: 10_000 })))).toEqual(
    after.map(() => 'дождалась'),
  )
})

test('a transaction that its own text has ended is refused, and nothing is stored by halves unseen', async () => {
  const { foothold, worker } = await setup()
  const ending = agentOf((task) =>
    task.transaction('запись', async (sql) => {
      await sql.query('select 1; commit')
      return 'готово'
    }),
  )
  await worker([ending])

  await expect((await foothold.submit(ending, null)).result({ timeoutMs: 10_000 })).rejects.toThrow(/ended inside/)
})

test('the time limit of a transaction may be the longest there is', async () => {
  const { foothold, worker } = await setup()
  const long = agentOf((task) => task.transaction('запись', async () => 'готово', { timeoutMs: 2 ** 31 - 1 }))
  await worker([long])

  expect(await (await foothold.submit(long, null)).result({ timeoutMs: 10_000 })).toBe('готово')
})
