import { agent, connect } from 'foothold'
import pg from 'pg'
import { z } from 'zod'
import { libraries } from './libraries.js'

/** Submits through each library's transaction, once committed and once rolled back, and prints what became of it. */

const INPUT = { text: 'Где "заказ" 5501?? \\ $1 {"a":[1]}', amounts: [1, 2.5], at: new Date('2026-12-02T10:00:00Z') }

const echo = agent({
  name: 'echo',
  input: z.object({ text: z.string(), amounts: z.array(z.number()), at: z.date() }),
  run: (task, input) => task.step('echo', () => input),
})

const url = process.env['DATABASE_URL']
const foothold = await connect(url, { logger: 'silent' })
const worker = foothold.worker({ agents: [echo] })
await worker.start()

const client = new pg.Client({ connectionString: url })
await client.connect()
// By its full name: the role may have a schema of its own before `public`, and Prisma names the schema.
await client.query('create table public.orders (id int primary key, text text not null)')
const count = async (text: string, value: unknown): Promise<number> =>
  Number((await client.query(`select count(*) as count from ${text} = $1`, [value])).rows[0].count)

let orderId = 0
for (const [name, open] of Object.entries(libraries)) {
  const { transact, close } = await open(url ?? '')
  try {
    const committed = (orderId += 1)
    const ids: string[] = []
    let seenBefore = -1
    const dedupeKey = `${name} 1`
    await transact(committed, async (transaction) => {
      const first = await foothold.submit(echo, INPUT, { transaction, dedupeKey, priority: 'live' })
      const again = await foothold.submit(echo, INPUT, { transaction, dedupeKey, priority: 'live' })
      const byName = await foothold.submit('echo', INPUT, { transaction })
      const later = await foothold.submit(echo, INPUT, { transaction, runAt: new Date('2200-01-01T00:00:00Z') })
      ids.push(first.id, again.id, byName.id, later.id)
      seenBefore = await count('foothold.tasks where id', first.id)
    })
    const atMs = performance.now()
    const results = await Promise.all(ids.slice(0, 3).map((id) => foothold.handle(id as never).result()))
    const tookMs = Math.round(performance.now() - atMs)

    const rolledBack = (orderId += 1)
    let lost = ''
    await transact(rolledBack, async (transaction) => {
      lost = (await foothold.submit(echo, INPUT, { transaction })).id
      throw new Error('сбой')
    }).catch((error: Error) => {
      if (!error.message.includes('сбой')) throw error
    })
    const report = {
      name,
      isSameTask: ids[0] === ids[1],
      areInputsKept: results.every((result) => JSON.stringify(result) === JSON.stringify(INPUT)),
      seenBefore,
      later: (await foothold.handle(ids[3] as never).state()).status,
      orders: [await count('orders where id', committed), await count('orders where id', rolledBack)],
      tasks: [await count('foothold.tasks where id', ids[0]), await count('foothold.tasks where id', lost)],
      tookMs,
    }
    console.log(JSON.stringify(report))
  } catch (error) {
    console.log(JSON.stringify({ name, failed: String(error) }))
  }
  await close()
}

await client.end()
await worker.drain()
await foothold.close()
