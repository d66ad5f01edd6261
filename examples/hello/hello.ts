import { setTimeout as pause } from 'node:timers/promises'
import { startDevPostgres } from '@foothold/dev-postgres'
import { agent, connect } from 'foothold'
import { z } from 'zod'

const hello = agent({
  name: 'hello',
  input: z.object({ name: z.string() }),
  async run(task, { name }) {
    const greeting = await task.step('greet', () => `Привет, ${name}!`)
    console.log(`step 1 is stored: ${greeting}`)
    return task.step('write', async ({ signal }) => {
      console.log(`step 2, attempt ${task.attempt}: ten seconds of work. Kill me now: kill -9 ${process.pid}`)
      await pause(10_000, undefined, { signal })
      return `${greeting} (written in attempt ${task.attempt})`
    })
  },
})

const postgres = process.env['DATABASE_URL'] ? null : await startDevPostgres({ log: console.log })
const foothold = await connect(process.env['DATABASE_URL'] ?? postgres?.url, { logger: 'silent' })
// The same key is the same task: another run of this program goes on with it.
const handle = await foothold.submit(hello, { name: 'мир' }, { dedupeKey: process.argv[2] ?? 'first' })
console.log(`task ${handle.id} is ${(await handle.state()).status}`)
// A heartbeat each second: a killed worker is noticed after four instead of twenty.
const worker = foothold.worker({ agents: [hello], heartbeatMs: 1_000 })
const stopped = worker.run()
const result = handle.result().then((text) => console.log(`done: ${text}`))
await Promise.race([result.then(() => worker.drain()), stopped])
await foothold.close()
await postgres?.stop()
