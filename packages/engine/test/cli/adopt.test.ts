import { expect, onTestFinished, test } from 'vitest'
import { type ForeignTable, lockStuckRows, readForeignTable, readStuckIds } from '../../src/store/adopt.ts'
import { openDatabase } from '../../src/store/database.ts'
import { agentOf, until } from '../integration/world.ts'
import { type CliWorld, cliWorld } from './cli-world.ts'

/** A home-made task table as people have it, in a schema and with names that need their quotes. */
const TABLE = 'shop."Задачи клиента"'
const NAMES = ['--table', TABLE, '--id', 'id', '--status', 'status', '--stuck', 'processing,"odd', '--agent', 'support']
const INPUT = ['--input', 'row=id,text=it"s text,weight=weight']

async function shop(stuck: number): Promise<CliWorld> {
  const world = await cliWorld()
  await world.query(`
    create schema shop;
    create type shop.status as enum ('pending', 'processing', 'done', 'adopted', '"odd');
    create table ${TABLE} (id bigint generated always as identity primary key, status shop.status not null, worker_id text,
      last_heartbeat_at timestamptz, retry_count int not null default 0, client text, "it""s text" text not null, weight numeric)`)
  await world.query(
    `insert into ${TABLE} (status, worker_id, last_heartbeat_at, client, "it""s text", weight)
     select 'processing', 'w-1', now() - interval '10 min', 'клиент ' || n % 3, 'текст ' || n, n * 1.10 from generate_series(1, $1) n`,
    [stuck],
  )
  await world.query(
    `insert into ${TABLE} (status, last_heartbeat_at, "it""s text") values ('processing', now(), 'жив'), ('done', null, 'готов')`,
  )
  await world.query(`insert into foothold.agents values ('support@1', 'support', 1, 900000, false, now())`)
  return world
}

const tasks = (world: CliWorld): Promise<Record<string, unknown>[]> =>
  world.query(
    `select t.*, p.input from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id order by t.id`,
  )

test('adopting 50 stuck rows twice gives 50 tasks, and the row whose worker lives is none of them', async () => {
  const world = await shop(50)
  const line = ['adopt', ...NAMES, ...INPUT, '--heartbeat', 'last_heartbeat_at', '--tenant', 'client']

  const first = await world.cli(...line)
  const second = await world.cli(...line, '--json')

  expect(first).toMatchObject({ code: 0, stdout: '50 submitted\n' })
  expect(second.code).toBe(0)
  expect(second.json()).toMatchObject({
    table: 'shop.Задачи клиента',
    handler: 'support@1',
    submitted: 0,
    known: 50,
    rows: expect.arrayContaining([
      {
        id: '1',
        outcome: 'known',
        dedupeKey: 'adopt:shop.Задачи клиента:1',
        taskId: expect.any(String),
        input: expect.any(String),
      },
    ]),
  })
  const made = await tasks(world)
  expect(made).toHaveLength(50)
  expect(made[0]).toMatchObject({
    tenant: 'клиент 1',
    status: 'pending',
    input: { row: 1, text: 'текст 1', weight: 1.1 },
  })
})

test('a dry run says what would happen, and leaves rows, keys and tasks as they were', async () => {
  const world = await shop(12)
  const before = await world.query(`select * from ${TABLE} order by id`)

  const answer = await world.cli(
    'adopt',
    ...NAMES,
    ...INPUT,
    '--heartbeat',
    'last_heartbeat_at',
    '--set-status',
    'adopted',
    '--dry-run',
  )

  expect(answer.code).toBe(0)
  expect(answer.stdout).toContain('1  submitted with {"row" : 1, "text" : "текст 1", "weight" : 1.10}')
  expect(answer.stdout).toMatch(/12 submitted\nNothing was changed: this was a dry run\.\n$/)
  expect(await tasks(world)).toEqual([])
  expect(await world.query('select * from foothold.dedupe')).toEqual([])
  expect(await world.query(`select * from ${TABLE} order by id`)).toEqual(before)
})

test('with --set-status a row changes in the transaction of its task, in batches, and is no longer stuck', async () => {
  const world = await shop(230)
  const line = ['adopt', ...NAMES, ...INPUT, '--heartbeat', 'last_heartbeat_at', '--set-status', 'adopted', '--json']

  const limited = await world.cli(...line, '--limit', '120')
  const rest = await world.cli(...line)

  expect(limited.json()).toMatchObject({ submitted: 120 })
  expect(rest.json()).toMatchObject({ submitted: 110, known: 0 })
  expect(limited.stderr).toBe('')
  expect(await world.query(`select status, count(*)::int from ${TABLE} group by 1 order by 1`)).toEqual([
    { status: 'processing', count: 1 },
    { status: 'done', count: 1 },
    { status: 'adopted', count: 230 },
  ])
  expect(await tasks(world)).toHaveLength(230)
})

test('a row that somebody has locked is left to them', async () => {
  const world = await shop(5)
  const other = await world.session()
  await other.query('begin')
  await other.query(`update ${TABLE} set status = 'done' where id = 2`)

  const answer = await world.cli('adopt', ...NAMES, ...INPUT, '--heartbeat', 'last_heartbeat_at', '--json')
  await other.query('commit')

  expect(answer.json()).toMatchObject({ submitted: 4, skipped: 1 })
  expect(answer.json()).toMatchObject({
    rows: expect.arrayContaining([{ id: '2', outcome: 'skipped', dedupeKey: expect.any(String) }]),
  })
  expect(await tasks(world)).toHaveLength(4)
})

test('a row that changed after it was read is left as it is', async () => {
  const world = await shop(2)
  const db = openDatabase({ url: world.url, poolSize: 2 })
  onTestFinished(() => db.close())
  const table = (await readForeignTable(db, TABLE)) as ForeignTable
  const rows = {
    table,
    idColumn: 'id',
    statusColumn: 'status',
    stuck: ['processing'],
    heartbeat: { column: 'last_heartbeat_at', staleSeconds: 300 },
    tenantColumn: null,
    input: { row: 'id' },
  }
  const ids = await readStuckIds(db, rows, { after: null, limit: 10 })
  await world.query(`update ${TABLE} set last_heartbeat_at = now() where id = 1`)

  const session = await world.session()
  await session.query('begin')
  expect(ids).toEqual(['1', '2'])
  expect(await lockStuckRows(session, rows, ids)).toEqual([{ id: '2', tenant: null, input: '{"row" : 2}' }])
})

test('a row that says something else than when it was adopted is named with its task, and the others go on', async () => {
  const world = await shop(3)
  const line = ['adopt', ...NAMES, ...INPUT, '--heartbeat', 'last_heartbeat_at']
  await world.cli(...line, '--limit', '2')
  await world.query(`update ${TABLE} set "it""s text" = 'другой' where id = 1`)

  const answer = await world.cli(...line)

  expect(answer.code).toBe(1)
  expect(answer.stdout).toMatch(/^1 {2}changed: task [0-9a-f-]{36}\n/)
  expect(answer.stdout).toContain(
    '1 submitted\n1 adopted before, left as they are\n1 adopted before with another input',
  )
  expect(await tasks(world)).toHaveLength(3)
})

test('a row that cannot be submitted is named, and the others go on', async () => {
  const world = await shop(3)
  await world.query(`update ${TABLE} set client = repeat('ы', 300) where id = 2`)

  const answer = await world.cli('adopt', ...NAMES, ...INPUT, '--heartbeat', 'last_heartbeat_at', '--tenant', 'client')

  expect(answer.code).toBe(1)
  expect(answer.stdout).toContain('2  refused: options.tenant: it takes 600 bytes, the limit is 512.')
  expect(answer.stdout).toContain('2 submitted\n1 that cannot be submitted')
})

test('a whole column can be the input, and a running worker takes the rows up at once', async () => {
  const world = await shop(0)
  await world.query(`create table requests (key text primary key, state text, body jsonb)`)
  await world.query(`insert into requests values ('а/1', 'stuck', '{"text": "Привет", "id": 9007199254740993}')`)
  const seen: unknown[] = []
  await world.worker([agentOf(async (_task, input) => seen.push(input), { name: 'support', version: 2 })])

  const answer = await world.cli(
    'adopt',
    '--table',
    'requests',
    '--id',
    'key',
    '--status',
    'state',
    '--stuck',
    'stuck',
    '--agent',
    'support',
    '--input',
    'body',
  )

  expect(answer).toMatchObject({ code: 0, stderr: expect.stringContaining('your own workers must not be running') })
  await until('it ran', () => seen.length === 1)
  expect(seen).toEqual([{ text: 'Привет', id: 9007199254740993n }])
  await world.stopWorkers()
})

test.each<[string, readonly string[], string]>([
  ['a table that is none', ['--table', 'shop.nothing'], 'there is no table "shop.nothing"'],
  ['a misspelt column', ['--status', 'statsu'], 'has no column "statsu". Did you mean "status"?'],
  [
    'a column in the input that is none',
    ['--input', 'row=iid'],
    '--input: Задачи клиента has no column "iid". Did you mean "id"?',
  ],
  [
    'an id that is not unique',
    ['--id', 'retry_count'],
    'is not unique, and two rows must not become one task. Unique are: id.',
  ],
  ['an input that says nothing', ['--input', 'a=b=c'], 'is neither a column, nor key=column'],
  ['an unknown priority', ['--priority', 'urgent'], '--priority is one of live, normal, batch.'],
  ['an age of nothing', ['--stale-seconds', '5'], '--stale-seconds needs --heartbeat'],
])('%s is wrong usage, said before any row is read', async (_, [option = '', value = ''], said) => {
  const world = await shop(1)
  const line = [...NAMES, ...INPUT]
  const at = line.indexOf(option)
  if (at < 0) line.push(option, value)
  else line[at + 1] = value

  const answer = await world.cli('adopt', ...line)

  expect(answer).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(said) })
})

test('what looks like SQL in a name is a name', async () => {
  const world = await shop(1)
  const evil = `id"); drop table foothold.tasks; --`
  await world.query(`alter table ${TABLE} add column "${evil.replaceAll('"', '""')}" int default 7`)

  const answer = await world.cli(
    'adopt',
    ...NAMES,
    '--heartbeat',
    'last_heartbeat_at',
    '--input',
    JSON.stringify({ "it's": evil }),
  )

  expect(answer).toMatchObject({ code: 0, stdout: '1 submitted\n' })
  expect((await tasks(world))[0]).toMatchObject({ input: { "it's": 7 } })
})

test('an agent that no worker has registered is refused with those that are known', async () => {
  const world = await shop(1)

  const answer = await world.cli('adopt', ...NAMES.with(-1, 'suport'), ...INPUT)

  expect(answer).toMatchObject({ code: 1, stderr: expect.stringContaining('Known: support') })
})
