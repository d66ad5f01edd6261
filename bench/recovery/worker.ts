import { agent, connect } from 'foothold'
import { z } from 'zod'

/** A worker at defaults, but for what its second argument switches off. Tells its parent when a task's code runs here. */
const [, , url = '', lifeline = 'on'] = process.argv
const tell = (message: object): void => void process.send?.(message)
process.on('disconnect', () => process.exit(3))

let finish: () => void = () => undefined
process.on('message', () => finish())

const answer = agent({
  name: 'answer',
  input: z.null(),
  async run(task) {
    await task.step('generate', ({ signal }) => {
      tell({ running: task.id, atMs: Date.now() })
      return new Promise<null>((resolve, reject) => {
        finish = () => resolve(null)
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
      })
    })
  },
})

const foothold = await connect(url, { migrate: false, logger: 'silent' })
const worker = foothold.worker({ agents: [answer], concurrency: 1, lifeline: lifeline === 'on' })
await worker.start()
tell({ started: worker.id })
