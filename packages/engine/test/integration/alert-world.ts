import { onTestFinished } from 'vitest'
import {
  type Agent,
  type AlertChannel,
  type AlertMessage,
  connect,
  type TaskId,
  TerminalError,
} from '../../src/index.ts'
import { agentOf, setup, until, type World } from './world.ts'

/** A channel in this process that keeps what it was told, and fails as the test says. */
export interface RecordingChannel extends AlertChannel {
  /** First messages. */
  readonly sent: readonly AlertMessage[]
  readonly edited: readonly AlertMessage[]
  /** The newest of both. */
  readonly last: AlertMessage | undefined
  /** Called before each call takes effect; throws to refuse. */
  before: () => void | Promise<void>
}

export function recordingChannel(name = 'chat'): RecordingChannel {
  const sent: AlertMessage[] = []
  const edited: AlertMessage[] = []
  let last: AlertMessage | undefined
  const channel = {
    name,
    sent,
    edited,
    get last() {
      return last
    },
    before: (): void | Promise<void> => undefined,
    async send(message: AlertMessage) {
      await channel.before()
      sent.push(message)
      last = message
      return { message: sent.length }
    },
    async update(ref: { readonly [name: string]: unknown }, message: AlertMessage) {
      await channel.before()
      edited.push(message)
      last = message
      return ref as { message: number }
    },
  }
  return channel
}

export interface AlertWorld extends World {
  /** A process of its own in all but name: its connection, its worker, its channels. */
  readonly alertWorker: (channels: readonly AlertChannel[], agents?: readonly Agent[]) => Promise<void>
  readonly deadLetter: () => Promise<TaskId>
}

/** Fails for good while the world is broken. */
export const mood = { isBroken: true }

export const failing = agentOf(async (task) => {
  await task.step('поиск', () => 'договор')
  return task.step('ответ', () => {
    if (mood.isBroken) throw new TerminalError('CRM молчит', { reason: 'crm_unavailable' })
    return 'готово'
  })
})

export async function alertWorld(): Promise<AlertWorld> {
  mood.isBroken = true
  const world = await setup()
  return {
    ...world,
    async alertWorker(channels, agents = [failing]) {
      const foothold = await connect(world.url, { alerts: channels, logger: 'silent', migrate: false })
      onTestFinished(() => foothold.close())
      await foothold.worker({ agents, heartbeatMs: 100, leaseMs: 1_000, graceMs: 2_000 }).start()
    },
    async deadLetter() {
      const { id } = await world.foothold.submit('test', null)
      await until('a dead letter', async () => (await world.foothold.task(id))?.status === 'dead_letter')
      return id
    },
  }
}
