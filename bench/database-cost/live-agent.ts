import { setTimeout as pause } from 'node:timers/promises'
import { agent } from 'foothold'
import { z } from 'zod'

/** The shape of a support task, without its services: five steps in about 30 s, an answer of 400 pieces at 20 a second. */
export const liveAgent = agent({
  name: 'live',
  input: z.object({ text: z.string() }),
  async run(task, { text }) {
    const wait = (ms: number, signal: AbortSignal): Promise<void> => pause(ms, undefined, { signal })
    await task.step('retrieve', async ({ signal }) => {
      await wait(1_000, signal)
      return { passages: Array.from({ length: 5 }, (_, n) => `${n}: ${'История клиента. '.repeat(40)}`) }
    })
    await task.step('plan', async ({ signal }) => {
      await wait(4_000, signal)
      return { functions: ['order', 'ticket'] }
    })
    await task.effect('tool_call', {
      request: { title: text },
      keyWindowMs: 86_400_000,
      async send(_, { signal }) {
        await wait(1_000, signal)
        return { ticket: 1 }
      },
    })
    const answer = await task.step('generate', async ({ signal, emit }) => {
      let written = ''
      for (let piece = 0; piece < 400; piece += 1) {
        await wait(50, signal)
        emit('answer', 'слово ')
        written += 'слово '
      }
      return written
    })
    return task.step('verify', async ({ signal }) => {
      await wait(4_000, signal)
      return answer
    })
  },
})
