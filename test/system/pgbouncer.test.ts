import { describe, expect, test } from 'vitest'
import { isPgBouncerInstalled, startPgBouncer } from '../../packages/engine/test/pgbouncer.ts'
import { askHeld } from '../e2e/five-steps.ts'
import { openWorld, until } from '../e2e/world.ts'

/** The lease, a look, and a busy machine. */
const BOUND_MS = 24_000

describe.runIf(isPgBouncerInstalled())('workers whose only address is a PgBouncer in transaction mode', () => {
  test('say once that they have no lifeline, work, and take over from a killed one when its lease is over', async ({
    onTestFinished,
  }) => {
    const world = await openWorld()
    onTestFinished(() => world.close())
    const pooler = await startPgBouncer(world.environment['DATABASE_URL'] ?? '')
    onTestFinished(() => pooler.stop())
    const settings = { environment: { DATABASE_URL: pooler.url, CONCURRENCY: '1' } }
    const workers = await Promise.all([world.start('worker', settings), world.start('worker', settings)])

    await until('their rows say so', async () => {
      const rows = await world.query(`select 1 from foothold.workers where not has_lifeline`)
      return rows.length === workers.length
    })

    const [asked] = await askHeld(world, [{ step: 'plan', clientId: '103', orderId: '5503', gate: 'pooled' }])
    if (asked === undefined) throw new Error('nothing was asked')
    await world.simulators.gigachat.control.waitForGate(asked.gate, { timeoutMs: 30_000 })
    const taken = await world.query<{ worker: string }>(
      `select worker_id as worker from foothold.tasks where id = $1`,
      [asked.taskId],
    )
    const victim = workers.find(({ pid }) => taken[0]?.worker.includes(`:${pid}:`))
    const killedAtMs = Date.now()
    victim?.kill('SIGKILL')
    await until(
      'the other one has it',
      async () => {
        const rows = await world.query(`select 1 from foothold.tasks where id = $1 and attempt = 2`, [asked.taskId])
        return rows.length === 1
      },
      60_000,
    )
    const tookMs = Date.now() - killedAtMs
    console.log(`through PgBouncer: claimed again ${tookMs} ms after the kill`)
    await world.simulators.gigachat.control.openGate(asked.gate)
    await world.foothold.handle(asked.taskId).result({ timeoutMs: 60_000 })

    expect(tookMs).toBeLessThan(BOUND_MS)
    for (const { lines } of workers) expect(lines.filter((line) => line.includes('no lifeline'))).toHaveLength(1)
  })
})
