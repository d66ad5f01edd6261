import { readFileSync } from 'node:fs'
import { createTestDatabase } from 'foothold/testing'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { codeBlocks } from './documents/document-text.ts'

const PAGE = readFileSync(new URL('../docs/how-to-leave.md', import.meta.url), 'utf8')

/** Everything a database can hold, by name and place. */
const OBJECTS = `
  select 'schema ' || nspname as object from pg_namespace where nspname !~ '^pg_(toast_)?temp'
  union all select 'relation ' || oid::regclass from pg_class where relnamespace <> 'pg_toast'::regnamespace
  union all select 'function ' || oid::regprocedure from pg_proc
  union all select 'trigger ' || tgname from pg_trigger where not tgisinternal
  union all select 'event trigger ' || evtname from pg_event_trigger
  union all select 'extension ' || extname from pg_extension
  union all select 'publication ' || pubname from pg_publication
  order by 1`

test('after what the page says nothing of ours is left, and what was not ours stands', async () => {
  const database = await createTestDatabase(inject('postgresUrl'))
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const objects = async (): Promise<string[]> =>
    (await client.query<{ object: string }>(OBJECTS)).rows.map((row) => row.object)
  try {
    await client.query(
      `create table public.results (id int primary key, text text); insert into public.results values (1, 'готово')`,
    )
    await client.query(`insert into foothold.agents values ('support@1', 'support', 1, 900000, false, now())`)
    await client.query(`select foothold.submit('support', '{"text": "а"}', dedupe_key => 'k')`)
    const exports = [...PAGE.matchAll(/-XAtc "(select .*)" >/g)].map(([, select]) => select as string)
    expect(exports.length).toBeGreaterThan(3)
    for (const select of exports) await client.query(select)

    const [, drop = ''] = codeBlocks(PAGE, 'postgresql')
    expect(drop).toContain('drop schema foothold')
    await client.query(drop)

    const left = await objects()
    expect(left.filter((object) => /foothold/.test(object))).toEqual([])
    expect((await client.query('select text from public.results')).rows).toEqual([{ text: 'готово' }])
    // The same as a database that never had it.
    await client.query('drop table public.results')
    const other = await withoutSchema(inject('postgresUrl'))
    expect(await objects()).toEqual(other)
  } finally {
    await client.end()
    await database.drop()
  }
})

async function withoutSchema(adminUrl: string): Promise<string[]> {
  const name = `never_${process.pid}`
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  await admin.query(`create database ${name} template template0`)
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  try {
    return (await client.query<{ object: string }>(OBJECTS)).rows.map((row) => row.object)
  } finally {
    await client.end()
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  }
}
