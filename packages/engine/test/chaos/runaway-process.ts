import { connect } from '../../src/index.ts'
import { agentOf } from '../integration/agents.ts'

/** A worker in a process of its own whose agents break the rules of the house. */
const [, , url, mode] = process.argv as [string, string, string, string | undefined]
if (mode === 'thread-dies') process.once('worker', (thread) => void setTimeout(() => void thread.terminate(), 1_000))
const tell = (message: object): void => void process.send?.(message)
const foothold = await connect(url, { migrate: false, logger: 'silent' })
process.on('disconnect', () => process.exit(3))

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const failing = { retry: { attemptsMax: 1 } }

const stray = agentOf(
  async (task) => {
    // Fails while nobody looks, and goes on after the run has returned.
    void task.step('упала', () => Promise.reject(new Error('нет')), failing)
    const branch = async (): Promise<void> => {
      await pause(200)
      await task.step('поздно', () => null)
    }
    void branch()
    const derived = async (): Promise<void> => {
      await task.step('тоже упала', () => Promise.reject(new Error('нет')), failing)
    }
    void derived()
    await pause(100)
    return 'готово'
  },
  { name: 'stray' },
)

const stubborn = agentOf(
  async (task) => {
    for (;;) {
      try {
        await task.step(`шаг`, () => Promise.reject(new Error('нет')), failing)
      } catch {
        // "It will work the next time."
      }
    }
  },
  { name: 'stubborn', deadlineMs: 500 },
)

const spinning = agentOf(
  async (task) => {
    if (task.attempt > 1) return 'на другом'
    tell({ spinning: true })
    for (;;);
  },
  { name: 'spinning' },
)

const worker = foothold.worker({
  agents: [stray, stubborn, spinning],
  heartbeatMs: 200,
  leaseMs: 1_000,
  graceMs: 1_000,
})
if (mode === 'thread-dies') {
  tell({ started: true })
  await worker.run()
} else {
  await worker.start()
  tell({ started: true })
}
