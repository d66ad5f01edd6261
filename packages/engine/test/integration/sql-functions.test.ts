import { once } from 'node:events'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { TaskId } from '../../src/protocol/task-context.ts'
import { support, untilWaiting, type World, worlds } from './client-world.ts'

const openWorld = worlds()

interface Submitted {
  readonly task_id: TaskId
  readonly created: boolean
}

async function submit(sql: pg.Client, input: unknown, named: Record<string, unknown> = {}): Promise<Submitted> {
  const names = Object.keys(named)
  const { rows } = await sql.query<Submitted>(
    `select task_id, created from foothold.submit('support', $1::json${names.map((name, i) => `, ${name} => $${i + 2}`).join('')})`,
    [JSON.stringify(input), ...Object.values(named)],
  )
  return rows[0] as Submitted
}

async function session(world: World, url = world.ownerUrl): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

/** A task as it stands in the tables, without what differs from task to task. */
async function contents(world: World, id: TaskId): Promise<unknown> {
  const { rows } = await world.sql.query(
    `select to_jsonb(t) - '{id,run_at,created_at,finished_at,cancel_requested_at,claim_id,claimed_at,started_at,deadline_at}'::text[] as task,
       nullif(t.run_at, t.created_at) as "startsAt", case when t.deadline_ms is null then t.deadline_at end as "deadlineAt", (t.finished_at, t.cancel_requested_at) is null as "isOpen",
       (select to_jsonb(p) - 'task_id' from foothold.task_payloads p where p.task_id = t.id) as payload,
       (select jsonb_agg(to_jsonb(d) - '{key,task_id,expires_at}'::text[] || jsonb_build_object('days', d.expires_at::date - t.created_at::date))
        from foothold.dedupe d where d.task_id = t.id) as dedupe,
       (select jsonb_agg(to_jsonb(g) - '{id,task_id,created_at}'::text[]) from foothold.signals g where g.task_id = t.id) as signals
     from foothold.tasks t where t.id = $1`,
    [id],
  )
  return rows[0]
}

test.each([
  ['nothing else', {}, {}],
  [
    'everything',
    { dedupe_key: 'ключ-sql', priority: 'live', tenant: 'ООО «Ромашка»', deadline_at: '2030-01-02T03:04:05Z' },
    {
      dedupeKey: 'ключ-ts',
      priority: 'live' as const,
      tenant: 'ООО «Ромашка»',
      deadlineAt: new Date('2030-01-02T03:04:05Z'),
    },
  ],
  ['a start in the past', { run_at: '2020-01-01T00:00:00Z' }, { runAt: new Date('2020-01-01T00:00:00Z') }],
])('a task submitted from SQL with %s is stored as one from TypeScript by name', async (_, named, options) => {
  await using world = await openWorld()
  const input = { text: 'Где мой заказ?', id: 12 }

  const fromSql = await submit(world.sql, input, named)
  const fromTs = await world.client.submit('support', input, options)

  expect(await contents(world, fromSql.task_id)).toEqual(await contents(world, fromTs.id))
  expect(await world.client.task(fromSql.task_id)).toMatchObject({
    agent: 'support',
    version: 3,
    status: 'pending',
    input,
  })
})

test('a task for later waits for its start', async () => {
  await using world = await openWorld()
  const runAt = new Date('2031-01-01T00:00:00Z')

  const { task_id } = await submit(world.sql, { text: 'а' }, { run_at: runAt.toISOString() })

  expect(await world.client.task(task_id)).toMatchObject({ status: 'waiting', waitingFor: 'start', wakeAt: runAt })
})

test('one dedupe key is one task, whichever side came first, and another body is refused by both with one code', async () => {
  await using world = await openWorld()
  const input = { text: 'Привет 😀', urgent: true, price: 0.1 + 0.2, ids: [9007199254740993n, 1e21], at: new Date(0) }
  // What the codec makes of the big integer, of the date, and what another language may write for them.
  const written = `{"at": {"value":"1970-01-01T00:00:00.000Z","$foothold":"date"}, "ids": [9007199254740993, 1000000000000000000000.0],
    "price": 0.30000000000000004, "text": "\\u041f\\u0440ивет \\ud83d\\ude00", "urgent": true}`
  const fromSql = async (key: string, body: string): Promise<Submitted> =>
    (
      await world.sql.query<Submitted>(`select * from foothold.submit('support', $1::json, dedupe_key => $2)`, [
        body,
        key,
      ])
    ).rows[0] as Submitted

  const ts = await world.client.submit('support', input, { dedupeKey: 'ts-first' })
  expect(await fromSql('ts-first', written)).toEqual({ task_id: ts.id, created: false })
  const sql = await fromSql('sql-first', written)
  expect(sql.created).toBe(true)
  expect(await world.client.submit('support', input, { dedupeKey: 'sql-first' })).toMatchObject({
    id: sql.task_id,
    created: false,
  })
  // The agent's own code hashes what its producer gave, too.
  const plain = await fromSql('plain', '{"text":"а"}')
  expect(await world.client.submit(support, { text: 'а' }, { dedupeKey: 'plain' })).toMatchObject({ id: plain.task_id })

  const other = { ...input, price: 0.3 }
  const refused = await refusal(fromSql('sql-first', written.replace('0.30000000000000004', '0.3')))
  expect(refused).toMatchObject({ sqlstate: 'TH005', code: 'DEDUPE_CONFLICT', details: { taskId: sql.task_id } })
  expect(refused).toEqual({
    sqlstate: 'TH005',
    ...(await refusal(world.client.submit('support', other, { dedupeKey: 'sql-first' }))),
  })
  expect((await world.client.tasks()).items).toHaveLength(3)
})

test('an expired key is taken anew', async () => {
  await using world = await openWorld()
  const first = await submit(world.sql, { text: 'а' }, { dedupe_key: 'k' })
  await world.sql.query(`update foothold.dedupe set expires_at = foothold.clock()`)

  const second = await submit(world.sql, { text: 'б' }, { dedupe_key: 'k' })

  expect(second.created).toBe(true)
  expect(second.task_id).not.toBe(first.task_id)
})

test('20 sessions that submit under one key at once make one task', async () => {
  await using world = await openWorld()
  const sessions = await Promise.all(Array.from({ length: 20 }, () => session(world)))

  const answers = await Promise.all(sessions.map((sql) => submit(sql, { text: 'а' }, { dedupe_key: 'k' })))

  expect(new Set(answers.map((answer) => answer.task_id)).size).toBe(1)
  expect(answers.filter((answer) => answer.created)).toHaveLength(1)
  expect((await world.client.tasks()).items).toHaveLength(1)
})

test('what a transaction submitted and rolled back leaves nothing, its key included', async () => {
  await using world = await openWorld()
  await world.sql.query('begin')
  await submit(world.sql, { text: 'а' }, { dedupe_key: 'k' })
  await world.sql.query('rollback')

  expect((await world.client.tasks()).items).toEqual([])
  expect(await submit(world.sql, { text: 'б' }, { dedupe_key: 'k' })).toMatchObject({ created: true })
})

interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: unknown
}

/** Of either side, in one form; null where there was none. */
async function refusal(call: Promise<unknown>): Promise<(Refusal & { readonly sqlstate?: string }) | null> {
  try {
    await call
    return null
  } catch (error) {
    const { code, message, detail, details } = error as Refusal & { readonly detail?: string }
    if (detail === undefined) return { code, message, details }
    const said = /^([A-Z_]+): (.*)$/s.exec(message)
    return {
      sqlstate: code,
      code: said?.[1] ?? '',
      message: said?.[2] ?? message,
      details: JSON.parse(detail) as unknown,
    }
  }
}

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`

test.each<[string, string, string, unknown, Record<string, unknown>]>([
  ['agent', 'TH001', `foothold.submit('sup port', '{}')`, 'sup port', {}],
  ['an unknown agent', 'TH004', `foothold.submit('suport', '{}')`, 'suport', {}],
  [
    'tenant',
    'TH001',
    `foothold.submit('support', '{}', tenant => '${'ы'.repeat(300)}')`,
    'support',
    { tenant: 'ы'.repeat(300) },
  ],
  ['dedupe_key', 'TH001', `foothold.submit('support', '{}', dedupe_key => '')`, 'support', { dedupeKey: '' }],
  ['priority', 'TH001', `foothold.submit('support', '{}', priority => 'urgent')`, 'support', { priority: 'urgent' }],
])('%s is refused by SQL as by TypeScript', async (_, sqlstate, call, agent, options) => {
  await using world = await openWorld()

  const sql = await refusal(world.sql.query(`select * from ${call}`))
  const ts = await refusal(world.client.submit(agent as string, {}, options))

  expect(sql).toMatchObject({ sqlstate, code: ts?.code })
  const problemOf = (refused: Refusal | null): unknown => {
    const details = refused?.details as { problem?: string; known?: string[] }
    return details.problem?.replace(' characters, the limit is 512 bytes', ' bytes, the limit is 512') ?? details.known
  }
  expect(problemOf(sql)).toEqual(problemOf(ts))
})

test.each([
  ['no input', `foothold.submit('support', null)`, 'TH001', /input: it is null\. For the JSON value pass/],
  [
    'a deadline before its start',
    `foothold.submit('support', '{}', run_at => now() + interval '1 h', deadline_at => now())`,
    'TH001',
    /deadline_at: .* is not after run_at/,
  ],
  ['an endless deadline', `foothold.submit('support', '{}', deadline_at => 'infinity')`, 'TH001', /years 1 to 9999/],
  ['too deep an input', `foothold.submit('support', '${deep(501)}')`, 'TH003', /deeper than 500 levels/],
  [
    'too large an input',
    `foothold.submit('support', to_json(repeat('x', 17 * 1024 * 1024)))`,
    'TH002',
    /the limit is 16777216/,
  ],
  ['a key that no text can hold', `foothold.submit('support', '{"\\u0000":1}', dedupe_key => 'k')`, 'TH003', /U\+0000/],
  ['no task to cancel', `foothold.cancel(foothold.new_id())`, 'TH006', /There is no task/],
  ['no task to signal', `foothold.signal(null, 'go')`, 'TH006', /There is no task/],
  ['a signal without a name', `foothold.signal(foothold.new_id(), '')`, 'TH001', /name: "" is not a name/],
])('%s is refused with field, limit and cure', async (_, call, code, message) => {
  await using world = await openWorld()

  await expect(world.sql.query(`select * from ${call}`)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message),
  })
})

test('an input of 500 levels, or with a NUL in a value, goes in, with a key too', async () => {
  await using world = await openWorld()
  const call = `select * from foothold.submit('support', $1::json, dedupe_key => $2)`

  await world.sql.query(call, [deep(500), 'deep'])
  const { rows } = await world.sql.query<Submitted>(call, ['{"text":"а\\u0000б"}', 'nul'])

  const same = await world.client.submit('support', { text: 'а\0б' }, { dedupeKey: 'nul' })
  expect(same).toMatchObject({ id: rows[0]?.task_id, created: false })
})

/** A task of TypeScript's in each state, and a way to make one more of the same kind. */
const STATES: Record<string, (world: World) => Promise<TaskId>> = {
  pending: async ({ client }) => (await client.submit(support, { text: 'а' })).id,
  async processing(world) {
    const { id } = await world.client.submit(support, { text: 'а' })
    await world.hand.claim(id)
    return id
  },
  async 'waiting for a signal'(world) {
    const { id } = await world.client.submit(support, { text: 'а' })
    await world.hand.park(await world.hand.claim(id), { waitingFor: 'signal' })
    return id
  },
  'waiting for its start': async ({ client }) =>
    (await client.submit(support, { text: 'а' }, { runAt: new Date('2031-01-01T00:00:00Z') })).id,
  async dead_letter(world) {
    const { id } = await world.client.submit(support, { text: 'а' })
    await world.hand.deadLetter(await world.hand.claim(id), 'step_failed')
    return id
  },
  async completed(world) {
    const { id } = await world.client.submit(support, { text: 'а' })
    await world.hand.complete(await world.hand.claim(id), 1)
    return id
  },
  async cancelled({ client }) {
    const { id } = await client.submit(support, { text: 'а' })
    await client.cancel(id)
    return id
  },
}

test.each(Object.keys(STATES))(
  'cancelling and signalling a task that is %s does the same from SQL as from TypeScript',
  async (state) => {
    await using world = await openWorld()
    const make = STATES[state] as (world: World) => Promise<TaskId>
    const go = { name: 'go', schema: support['~code'].input }
    const reason = 'клиент передумал '.repeat(40)

    const [a, b, c, d] = [await make(world), await make(world), await make(world), await make(world)]
    const cancelled = await world.client.cancel(a, { reason })
    expect((await world.sql.query('select * from foothold.cancel($1, $2)', [b, reason])).rows).toEqual([cancelled])
    expect(await contents(world, b)).toEqual(await contents(world, a))

    const signalled = await refusal(world.client.sendSignal(c, go, { text: 'да' }, { dedupeKey: 's-1' }))
    const fromSql = await refusal(
      world.sql.query(`select foothold.signal($1, 'go', '{"text":"да","urgent":false}', dedupe_key => 's-1')`, [d]),
    )
    expect(fromSql?.code).toBe(signalled?.code)
    expect(await contents(world, d)).toEqual(await contents(world, c))
  },
)

test('a signal sent again under its key is stored once, and stays accepted when the task has ended', async () => {
  await using world = await openWorld()
  const { id } = await world.client.submit(support, { text: 'а' })
  const send = (): Promise<unknown> => world.sql.query(`select foothold.signal($1, 'go', dedupe_key => 's-1')`, [id])

  await send()
  await send()
  await world.client.cancel(id)
  await send()

  const { rows } = await world.sql.query('select payload::text from foothold.signals')
  expect(rows).toEqual([{ payload: 'null' }])
})

test('workers hear of a task when its transaction commits, and of two open transactions one carries the notice', async () => {
  await using world = await openWorld()
  const listener = await session(world)
  const heard: string[] = []
  listener.on('notification', ({ payload }) => void heard.push(payload ?? ''))
  await listener.query('listen foothold_pending')
  const [one, two] = [await session(world), await session(world)]

  await one.query('begin')
  await submit(one, { text: 'а' })
  await submit(one, { text: 'б' })
  await two.query('begin')
  await submit(two, { text: 'в' })
  await two.query('commit')
  await listener.query('select 1')
  expect(heard).toEqual([])

  const notice = once(listener, 'notification')
  await one.query('commit')
  await notice
  expect(heard).toEqual(['support@3'])
})

test('a key in an open transaction holds up who uses the same key, and nobody else', async () => {
  await using world = await openWorld()
  const [one, two] = [await session(world), await session(world)]
  await one.query('begin')
  const first = await submit(one, { text: 'а' }, { dedupe_key: 'k' })

  await submit(two, { text: 'б' }, { dedupe_key: 'l' })
  const second = submit(two, { text: 'а' }, { dedupe_key: 'k' })
  await untilWaiting(world, 'foothold.submit')
  await one.query('commit')

  expect(await second).toEqual({ task_id: first.task_id, created: false })
})

async function producer(world: World, grants: string): Promise<pg.Client> {
  const role = `producer_${process.pid}`
  await world.sql.query(`create role ${role} login password 'слово'; grant usage on schema foothold to ${role}`)
  onTestFinished(async () => {
    const admin = await session(world)
    await admin.query(`drop owned by ${role}; drop role ${role}`)
  })
  await world.sql.query(grants.replaceAll('producer', role))
  const url = new URL(world.url)
  url.username = role
  url.password = 'слово'
  return session(world, url.href)
}

test('a role with one grant may submit, and may neither read, write nor call anything else', async () => {
  await using world = await openWorld()
  const sql = await producer(world, 'grant execute on function foothold.submit to producer')

  expect(await submit(sql, { text: 'а' }, { dedupe_key: 'k' })).toMatchObject({ created: true })

  for (const forbidden of [
    'select * from foothold.tasks',
    'select * from foothold.task_view',
    'select * from foothold.task_payloads',
    `insert into foothold.dedupe values ('support', '', 'k2', foothold.new_id(), '', now())`,
    'select foothold.cancel(foothold.new_id())',
    `select foothold.signal(foothold.new_id(), 'go')`,
    `select foothold.canonical_json('{}')`,
    `select foothold.announce('support@3')`,
  ]) {
    await expect(sql.query(forbidden), forbidden).rejects.toMatchObject({ code: '42501' })
  }
})

test('nothing of the caller goes into the function: its search path, temporary objects and settings', async () => {
  await using world = await openWorld()
  const sql = await producer(
    world,
    `grant execute on function foothold.submit to producer; grant temporary on database ${new URL(world.url).pathname.slice(1)} to producer; create schema trap authorization producer`,
  )
  await sql.query(`
    create function trap.pg_notify(text, text) returns void language plpgsql as 'begin raise exception ''caught''; end';
    create function trap.length(text) returns int language plpgsql as 'begin raise exception ''caught''; end';
    create function trap.same(text, text) returns boolean language plpgsql as 'begin raise exception ''caught''; end';
    create operator trap.= (function = trap.same, leftarg = text, rightarg = text);
    create temporary table tasks (id int);
    set search_path = trap, pg_temp, pg_catalog, foothold;
    set standard_conforming_strings = off; set escape_string_warning = off; set extra_float_digits = -15; set timezone = 'Asia/Tokyo'`)
  const input = { text: 'а\n"б"\u0000', price: 0.1 + 0.2 }

  const { task_id } = await submit(sql, input, { dedupe_key: 'k' })

  expect(await world.client.submit('support', input, { dedupeKey: 'k' })).toMatchObject({ id: task_id, created: false })
})

test('the views of outcomes, steps, keys and agents say what the tables say', async () => {
  await using world = await openWorld()
  const { id } = await world.client.submit(support, { text: 'а' }, { dedupeKey: 'k', tenant: 'т' })
  const fence = await world.hand.claim(id)
  await world.hand.step(fence, { key: 'retrieve' })
  await world.hand.complete(fence, { answer: 'да' })

  const row = async (text: string): Promise<unknown> => (await world.sql.query(text)).rows[0]
  expect(await row('select * from foothold.outcome_view')).toMatchObject({
    task_id: id,
    agent: 'support',
    tenant: 'т',
    status: 'completed',
    output: { answer: 'да' },
    error: null,
  })
  expect(await row('select * from foothold.step_view')).toMatchObject({
    task_id: id,
    key: 'retrieve',
    status: 'completed',
  })
  expect(await row('select * from foothold.dedupe_view')).toMatchObject({
    agent: 'support',
    tenant: 'т',
    key: 'k',
    task_id: id,
  })
  expect(await row('select * from foothold.agent_view order by version desc')).toMatchObject({
    name: 'support',
    version: 3,
    deadline_ms: 600_000,
  })
})
