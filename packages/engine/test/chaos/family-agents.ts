import pg from 'pg'
import { z } from 'zod'
import { agent } from '../../src/index.ts'

/** What the children of `family` did, written down by themselves, one row each time they did it. */
export const FAMILY_LEDGER = `
  create table begun (id bigserial primary key, part int not null, child text not null);
  create table done (child text primary key, part int not null, in_flight int not null)`

/** A parent with as many children as it is told, and the child, which writes down that it ran. */
export function familyAgents(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: 5, allowExitOnIdle: true })
  pool.on('error', () => undefined)
  const part = agent({
    name: 'part',
    input: z.number(),
    async run(task, number) {
      await task.step('begin', async () => {
        await pool.query('insert into begun (part, child) values ($1, $2)', [number, task.id])
      })
      await task.transaction('done', (sql) =>
        sql
          .query(
            `insert into done (child, part, in_flight)
           select $1, $2, count(distinct b.child) from begun b where not exists (select 1 from done d where d.child = b.child)`,
            [task.id, number],
          )
          .then(() => null),
      )
      return number * 2
    },
  })
  const family = agent({
    name: 'family',
    input: z.object({ children: z.number(), atOnce: z.number() }),
    async run(task, { children, atOnce }) {
      const numbers = Array.from({ length: children }, (_, index) => index)
      const doubled = await task.children('part', part, numbers, { atOnce })
      return doubled.reduce((sum, number) => sum + number, 0)
    },
  })
  return [part, family] as const
}
