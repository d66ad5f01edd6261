import { telegramAlerts } from '@foothold/server/alerts'
import { agent, connect } from 'foothold'
import { z } from 'zod'
import { bitrixCrm } from '../../apps/support-agent/src/integrations/bitrix-crm.ts'

/** A worker whose tasks need the CRM and nothing else, and whose dead letters are told in a chat. Settings as JSON. */
export interface OnCallWorkerSettings {
  readonly databaseUrl: string
  readonly crmUrl: string
  readonly telegram: { readonly token: string; readonly apiRoot: string; readonly chatId: string }
  readonly deadlineMs: number
  readonly release: string
}

const settings = JSON.parse(process.argv[2] ?? '{}') as OnCallWorkerSettings
const crm = bitrixCrm({ url: settings.crmUrl, hasKeys: true })
const orders = agent({
  name: 'orders',
  input: z.object({ orderId: z.string() }),
  deadlineMs: settings.deadlineMs,
  async run(task, { orderId }) {
    const order = await task.step('order', ({ signal }) => crm.order(orderId, signal))
    return order?.status ?? null
  },
})
const foothold = await connect(settings.databaseUrl, {
  migrate: false,
  alerts: [telegramAlerts({ ...settings.telegram, language: 'ru' })],
})
const worker = foothold.worker({ agents: [orders], concurrency: 50, release: settings.release })
// A parent that is gone must not leave a worker behind.
process.on('disconnect', () => process.exit(3))
await worker.start()
process.send?.({ type: 'ready' })
