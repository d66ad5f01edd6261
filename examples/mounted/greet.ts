import { agent } from 'foothold'
import { z } from 'zod'

/** What both servers run. */
export const greet = agent({
  name: 'greet',
  input: z.object({ name: z.string().min(1) }),
  async run(task, { name }) {
    await task.sleep('think', 200)
    return task.step('write', () => `Здравствуйте, ${name}!`)
  },
})
