import { agent, connect } from 'foothold'
import { z } from 'zod'

const survive = agent({
  name: 'survive',
  input: z.object({ name: z.string() }),
  async run(task, { name }) {
    await task.step('block', () => {
      // Longer than the lease: only a heartbeat from another thread keeps this worker alive.
      const untilMs = performance.now() + 4_000
      while (performance.now() < untilMs);
      return null
    })
    console.log(`blocked in attempt ${task.attempt}`)
    return task.step('write', async ({ signal }) => {
      console.log(`writing in attempt ${task.attempt}`)
      if (task.attempt === 1) await new Promise((_, reject) => signal.addEventListener('abort', reject))
      return `Привет, ${name}!`
    })
  },
})

async function main(): Promise<void> {
  const foothold = await connect(process.env['DATABASE_URL'], { logger: 'silent' })
  const handle = await foothold.submit(survive, { name: 'мир' }, { dedupeKey: 'first' })
  const worker = foothold.worker({ agents: [survive], heartbeatMs: 500, leaseMs: 2_000 })
  await worker.start()
  console.log(`done: ${await handle.result()}`)
  await worker.drain()
  await foothold.close()
}

void main()
