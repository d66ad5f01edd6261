import { expect, test } from 'vitest'
import { z } from 'zod'
import * as present from '../../src/index.ts'
import { setup, until } from './world.ts'

/**
 * Expand, then contract one minor version later: the library before this one works on the schema of this one, and this one
 * on a schema that has grown since.
 */

const before: typeof present = await import('../library-before/library.js' as string)

test.each([
  ['the library before, on the schema of today', before],
  ['the library of today, on a schema of tomorrow', present],
])('%s: every kind of step, wait and command does what it did', async (_, library) => {
  const { url, ownerUrl, query } = await setup()
  if (library === present) await growSchema(query)
  const foothold = await library.connect(url, { migrate: false, logger: 'silent' })
  const go = library.signal('go', z.object({ yes: z.boolean() }))
  let isBroken = true
  const agent = library.agent({
    name: 'test',
    input: z.object({ text: z.string() }),
    async run(task, input) {
      const found = await task.step('найти', () => input.text.length)
      await task.transaction('записать', async (sql) => (await sql.query('select 1 as one')).rows[0].one)
      await task.effect('послать', { request: found, keyWindowMs: 60_000, send: async () => ({ sent: true }) })
      await task.sleep('пауза', 50)
      const { yes } = await task.waitForSignal('согласие', go)
      return task.step('ответ', () => {
        if (isBroken) throw new library.TerminalError('ещё нет')
        return yes
      })
    },
  })
  const worker = foothold.worker({ agents: [agent], heartbeatMs: 100, leaseMs: 1_000 })
  await worker.start()

  try {
    const handle = await foothold.submit(agent, { text: 'привет' }, { dedupeKey: 'a', tenant: 'ООО', priority: 'live' })
    expect((await foothold.submit('test', { text: 'привет' }, { dedupeKey: 'a', tenant: 'ООО' })).created).toBe(false)
    await until('it waits for its signal', async () => (await foothold.task(handle.id))?.waitingFor === 'signal')
    await foothold.sendSignal(handle.id, go, { yes: true })
    await until('it is a dead letter', async () => (await foothold.task(handle.id))?.status === 'dead_letter')
    isBroken = false
    await foothold.resume(handle.id)
    expect(await handle.result({ timeoutMs: 10_000 })).toBe(true)
    await foothold.restart(handle.id, { from: 'ответ' })
    expect(await handle.result({ timeoutMs: 10_000 })).toBe(true)
    expect((await foothold.why(handle.id))?.status).toBe('completed')
    await foothold.pause({ tenant: 'ООО' })
    const paused = await foothold.submit(agent, { text: '' }, { tenant: 'ООО' })
    await until('it is set aside', async () => (await foothold.task(paused.id))?.waitingFor === 'pause')
    await foothold.unpause({ tenant: 'ООО' })
    await foothold.cancel(paused.id)
    await until('it is cancelled', async () => (await foothold.task(paused.id))?.status === 'cancelled')
  } finally {
    await foothold.close()
  }
  expect(ownerUrl).not.toBe(url)
})

/** What a later minor version may do to the schema: a ledger row, columns with constant defaults, tables, views. */
async function growSchema(query: (text: string) => Promise<unknown>): Promise<void> {
  await query(
    `insert into foothold.migrations (version, name, checksum, applied_at, breaking) values (9999, 'tomorrow', '-', clock_timestamp(), false)`,
  )
  for (const table of [
    'tasks',
    'task_payloads',
    'agent_steps',
    'attempts',
    'workers',
    'signals',
    'dedupe',
    'alerts',
    'alert_groups',
    'pauses',
  ]) {
    await query(
      `alter table foothold.${table} add column of_tomorrow int not null default 7, add column maybe_tomorrow text`,
    )
  }
  await query(
    'create or replace view foothold.pause_view as select kind, value, since, reason, paused_by, of_tomorrow from foothold.pauses',
  )
}

test('the library of today refuses a schema that says it breaks it, and takes any other', async () => {
  const { url, query } = await setup()
  await query(
    `insert into foothold.migrations (version, name, checksum, applied_at, breaking) values (9999, 'tomorrow', '-', clock_timestamp(), true)`,
  )

  await expect(present.connect(url, { migrate: false, logger: 'silent' })).rejects.toMatchObject({
    code: 'SCHEMA_NEWER',
  })
})
