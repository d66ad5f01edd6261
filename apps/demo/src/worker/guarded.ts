import type { LlmModel } from '@foothold/models'
import { agent, connect } from 'foothold'
import { SupportRequest } from '../agent/request.ts'
import type { Services } from '../agent/services.ts'
import { answerRequest } from '../agent/work.ts'
import type { Tell, WorkerSettings } from './messages.ts'
import { observed } from './observed.ts'
import type { RunningWorker } from './running-worker.ts'

/** With the guard: Foothold keeps each step, gives keys to what acts outside, and hands over when told to stop. */
export async function startGuarded(
  settings: WorkerSettings,
  outside: { readonly model: LlmModel; readonly services: Services },
  tell: Tell,
): Promise<RunningWorker> {
  const support = agent({
    name: 'support',
    input: SupportRequest,
    async run(task, request) {
      const { id, attempt } = task
      tell({ type: 'begun', task: id, request: request.id, attempt })
      try {
        const answer = await answerRequest(observed(task, 'stored', tell), request, outside)
        tell({ type: 'ended', task: id, attempt, how: 'completed' })
        return answer
      } catch (error) {
        tell({ type: 'ended', task: id, attempt, how: 'left' })
        throw error
      }
    },
  })
  const foothold = await connect(settings.databaseUrl, { migrate: false, logger: 'silent', poolSize: 4 })
  const worker = foothold.worker({
    agents: [support],
    concurrency: settings.concurrency,
    release: settings.release,
    heartbeatMs: settings.heartbeatMs,
    leaseMs: settings.leaseMs,
  })
  await worker.start()
  return {
    async stop() {
      const { handedOver } = await worker.drain()
      await foothold.close()
      return { handedOver: handedOver.length }
    },
  }
}
