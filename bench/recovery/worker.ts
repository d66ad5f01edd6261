import { agent, connect } from 'foothold'
import { z } from 'zod'

/** What a worker tells the bench. Times are this machine's clock, in milliseconds. */
export type Told =
  | { readonly what: 'started' | 'stopping'; readonly atMs: number }
  /** Its code is running, now and then: it is not frozen. */
  | { readonly what: 'awake'; readonly atMs: number }
  /** A step's code begins or ends here, or an effect's request leaves. */
  | {
      readonly what: 'began' | 'ended' | 'request'
      readonly task: string
      readonly step: string
      readonly attempt: number
      readonly atMs: number
    }

/** Between two requests of `calls`. */
const REQUEST_MS = 100
const AWAKE_MS = 200

/** A worker at defaults, but for what its second argument switches off. What is under way ends when the parent says so. */
const [, , url = '', lifeline = 'on'] = process.argv
const tell = (told: Told): void => void process.send?.(told)
const orphaned = (): never => process.exit(3)
process.on('disconnect', orphaned)
process.once('SIGTERM', () => tell({ what: 'stopping', atMs: Date.now() }))
setInterval(() => tell({ what: 'awake', atMs: Date.now() }), AWAKE_MS).unref()

let finish: () => void = () => undefined
const finished = new Set<string>()
process.on('message', (task: string) => {
  finished.add(task)
  finish()
})

/** One long step, which ends when it is told to, and one after it. */
const answer = agent({
  name: 'answer',
  input: z.null(),
  async run(task) {
    const { attempt } = task
    await task.step('generate', async ({ signal }) => {
      tell({ what: 'began', task: task.id, step: 'generate', attempt, atMs: Date.now() })
      await new Promise<void>((resolve, reject) => {
        finish = resolve
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
      })
      tell({ what: 'ended', task: task.id, step: 'generate', attempt, atMs: Date.now() })
    })
    await task.step('verify', () => tell({ what: 'began', task: task.id, step: 'verify', attempt, atMs: Date.now() }))
  },
})

/** One request after the other to somebody outside, until it is told to stop. */
const calls = agent({
  name: 'calls',
  input: z.null(),
  async run(task) {
    for (let n = 1; !finished.has(task.id); n += 1) {
      await task.effect(`call:${n}`, {
        request: { n },
        keyWindowMs: 600_000,
        async send() {
          tell({ what: 'request', task: task.id, step: `call:${n}`, attempt: task.attempt, atMs: Date.now() })
          await new Promise((resolve) => setTimeout(resolve, REQUEST_MS))
        },
      })
    }
  },
})

const foothold = await connect(url, { migrate: false, logger: 'silent' })
const worker = foothold.worker({ agents: [answer, calls], concurrency: 1, lifeline: lifeline === 'on' })
await worker.start()
tell({ what: 'started', atMs: Date.now() })
await worker.run()
process.off('disconnect', orphaned)
process.disconnect?.()
