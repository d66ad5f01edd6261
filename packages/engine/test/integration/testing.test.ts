import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { movableClock } from '../../src/testing/clock.ts'
import { createTestDatabase } from '../../src/testing/database.ts'

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

test('test databases made at the same time are migrated, apart from each other, and gone after drop', async () => {
  const databases = await Promise.all(Array.from({ length: 4 }, () => createTestDatabase(inject('postgresUrl'))))
  const [first, second] = databases as [(typeof databases)[0], (typeof databases)[0]]
  try {
    await query(first.url, `insert into foothold.dedupe values ('a', '', 'к', gen_random_uuid(), 'h', now())`)

    expect(await query(first.url, 'select key from foothold.dedupe')).toEqual([{ key: 'к' }])
    expect(await query(second.url, 'select key from foothold.dedupe')).toEqual([])
  } finally {
    await Promise.all(databases.map((database) => database.drop()))
  }
  await first.drop()
  await expect(query(first.url, 'select 1')).rejects.toMatchObject({ code: '3D000' })
})

test('the clock of one database moves by what it is told, both ways, and comes back', async () => {
  const database = await createTestDatabase(inject('postgresUrl'))
  const clock = movableClock(database.url)
  const offsetMs = async (): Promise<number> => {
    const rows = await query(
      database.url,
      'select extract(epoch from foothold.clock() - clock_timestamp())::float8 * 1000 as ms',
    )
    return Math.round((rows[0]?.['ms'] as number) / 1_000) * 1_000 + 0
  }
  try {
    await Promise.all([clock.advance(60_000), clock.advance(86_400_000), clock.advance(-10_000)])
    expect(await offsetMs()).toBe(86_450_000)

    await clock.reset()
    expect(await offsetMs()).toBe(0)
  } finally {
    await database.drop()
  }
})
