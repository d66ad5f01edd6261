import { readFileSync } from 'node:fs'
import { createTestDatabase } from 'foothold/testing'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { codeBlocks } from './documents/document-text.ts'

/** docs/sql.md is the contract for other languages: what it lists is what the database has, no more and no less. */

const PAGE = readFileSync(new URL('../docs/sql.md', import.meta.url), 'utf8')
/** They act with the rights of who calls them, which reach no table of ours. */
const HELPERS = new Set(['clock', 'new_id', 'lanes_of', 'running_lanes', 'lane_room', 'take_lanes'])

async function open(): Promise<pg.Client> {
  const database = await createTestDatabase(inject('postgresUrl'))
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await database.drop()
  })
  return client
}

/** The rows of the table under a heading, without its head, cells without white space and code marks. */
function tableUnder(heading: string): string[][] {
  const section = PAGE.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  const lines = section.split('\n').filter((line) => line.startsWith('|'))
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replace(/^`|`$/g, '')),
  )
}

test('the page lists the functions that a role can be granted, with their arguments and what they give', async () => {
  const client = await open()
  const { rows } = await client.query<{ name: string; arguments: string; gives: string; isDoor: boolean }>(
    `select proname as name, pg_get_function_arguments(oid) as arguments, prosecdef as "isDoor"
     from pg_proc where pronamespace = 'foothold'::regnamespace order by 1`,
  )
  const listed = tableUnder('Functions').map(([name, args, gives]) => {
    const outs =
      gives === 'nothing'
        ? ''
        : `, ${(gives ?? '')
            .split(', ')
            .map((out) => `OUT ${out}`)
            .join(', ')}`
    return { name, arguments: `${args}${outs}` }
  })
  const plain = (text: string): string => text.replaceAll(/::(text|timestamp with time zone|json)/g, '')

  expect(listed.length).toBeGreaterThan(2)
  expect(listed.toSorted((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1))).toEqual(
    rows.filter((row) => row.isDoor).map((row) => ({ name: row.name, arguments: plain(row.arguments) })),
  )
})

test('nobody may call a function of the schema unasked, but those that views and statements need', async () => {
  const client = await open()
  const { rows } = await client.query<{ name: string }>(
    `select proname as name from pg_proc where pronamespace = 'foothold'::regnamespace and has_function_privilege('public', oid, 'execute')`,
  )

  expect(rows.map((row) => row.name).filter((name) => !HELPERS.has(name))).toEqual([])
})

test('the page lists every view with its columns', async () => {
  const client = await open()
  const { rows } = await client.query<{ name: string; columns: string }>(
    `select c.relname as name, string_agg(a.attname, ', ' order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'foothold'::regnamespace and c.relkind = 'v' group by 1 order by 1`,
  )
  const listed = tableUnder('Views').map(([name, , columns]) => ({ name: name ?? '', columns }))

  expect(
    listed.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    'docs/sql.md, "Views"',
  ).toEqual(rows)
})

test('the page lists every refusal of the functions', async () => {
  const client = await open()
  const { rows } = await client.query<{ prosrc: string }>(`select prosrc from pg_proc where proname = 'refuse'`)
  const known = [...(rows[0]?.prosrc ?? '').matchAll(/when '([A-Z_]+)' then '(TH\d+)'/g)].map(([, code, state]) => [
    state,
    code,
  ])

  expect(known.length).toBeGreaterThan(5)
  expect(tableUnder('Refusals').map(([state, code]) => [state, code])).toEqual(known)
})

test('the grants of the page are enough to submit and look, and for nothing else', async () => {
  const client = await open()
  const role = `shop_${process.pid}`
  const [grants = ''] = codeBlocks(PAGE, 'psql')
  await client.query(`insert into foothold.agents values ('support@1', 'support', 1, 900000, false, now())`)
  await client.query(
    `begin; create role ${role}; ${grants.replaceAll(' to shop', ` to ${role}`)} set local role ${role}`,
  )
  try {
    const { rows } = await client.query<{ task_id: string }>(`select task_id from foothold.submit('support', '{}')`)
    const seen = await client.query('select id, status from foothold.task_view')
    expect(seen.rows).toEqual([{ id: rows[0]?.task_id, status: 'pending' }])
    await client.query('savepoint before')
    await expect(client.query('select * from foothold.tasks')).rejects.toMatchObject({ code: '42501' })
    await client.query('rollback to before')
    await expect(client.query('select * from foothold.outcome_view')).rejects.toMatchObject({ code: '42501' })
  } finally {
    await client.query('rollback')
  }
})
