import { z } from 'zod'
import { agent, signal } from '../../src/index.ts'

/** What a worker started by `foothold worker` runs in the tests. */
export const quick = agent({
  name: 'quick',
  input: z.object({ вопрос: z.string() }),
  run: (task, { вопрос }) => task.step('ответ', () => `ответ на: ${вопрос}`),
})

const patient = agent({
  name: 'patient',
  input: z.unknown(),
  run: async (task) => {
    await task.step('начало', ({ emit }) => {
      emit('text', 'Пишу ')
      return 'начато'
    })
    return task.waitForSignal('согласие', signal('consent', z.string()))
  },
})

export default [patient]
