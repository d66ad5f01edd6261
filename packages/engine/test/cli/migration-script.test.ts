import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createEmptyDatabase } from '../integration/empty-database.ts'
import { cli } from './cli-world.ts'

async function empty(): Promise<{ readonly url: string; readonly session: pg.Client }> {
  const database = await createEmptyDatabase(inject('postgresUrl'))
  const session = new pg.Client({ connectionString: database.url })
  await session.connect()
  onTestFinished(async () => {
    await session.end()
    await database.drop()
  })
  return { url: database.url, session }
}

/** Everything in the schema that a statement could notice, and the ledger. */
async function contentsOf(session: pg.Client): Promise<unknown> {
  const columns = await session.query(
    `select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns
     where table_schema = 'foothold' order by table_name, ordinal_position`,
  )
  const indexes = await session.query(`select indexdef from pg_indexes where schemaname = 'foothold' order by indexdef`)
  const constraints = await session.query(
    `select conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint
     where connamespace = 'foothold'::regnamespace order by 1, 2`,
  )
  const functions = await session.query(
    `select proname, prosrc from pg_proc where pronamespace = 'foothold'::regnamespace order by 1`,
  )
  const ledger = await session.query('select version, name, checksum, breaking from foothold.migrations order by 1')
  return [columns, indexes, constraints, functions, ledger].map(({ rows }) => rows)
}

test('the printed script leaves exactly what migrating leaves, and the ledger says so', async () => {
  const [byHand, migrated] = [await empty(), await empty()]
  const script = await cli(['migrate', '--sql'])

  // The first line is for psql alone.
  const [head, ...statements] = script.stdout.split('\n')
  await byHand.session.query(statements.join('\n'))
  await cli(['migrate'], { DATABASE_URL: migrated.url })

  expect(script).toMatchObject({ code: 0, stderr: '' })
  expect(head).toBe('\\set ON_ERROR_STOP on')
  expect(await contentsOf(byHand.session)).toEqual(await contentsOf(migrated.session))
  const again = await cli(['migrate', '--json'], { DATABASE_URL: byHand.url })
  expect(again.json()).toMatchObject({ applied: [] })
})

test('commands that need the schema say how to make it, and make none', async () => {
  const { url, session } = await empty()

  const answer = await cli(['tasks', 'list'], { DATABASE_URL: url })

  expect(answer).toMatchObject({ code: 1, stderr: expect.stringContaining('Run: foothold migrate') })
  expect((await session.query(`select 1 from pg_namespace where nspname = 'foothold'`)).rowCount).toBe(0)
})
