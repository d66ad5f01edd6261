import { type CrmOptions, type RunningCrm, startCrm } from './crm/crm.ts'
import { type GigaChatOptions, type RunningGigaChat, startGigaChat } from './gigachat/gigachat.ts'
import { type RunningTelegram, startTelegram, type TelegramOptions } from './telegram/telegram.ts'

export interface SimulatorsOptions {
  readonly gigachat?: GigaChatOptions
  readonly crm?: CrmOptions
  readonly telegram?: TelegramOptions
}

export interface Simulators {
  readonly gigachat: RunningGigaChat
  readonly crm: RunningCrm
  readonly telegram: RunningTelegram
  readonly close: () => Promise<void>
}

export async function startSimulators(options: SimulatorsOptions = {}): Promise<Simulators> {
  const started = await Promise.allSettled([
    startGigaChat(options.gigachat),
    startCrm(options.crm),
    startTelegram(options.telegram),
  ])
  const [gigachat, crm, telegram] = started
  if (gigachat.status === 'fulfilled' && crm.status === 'fulfilled' && telegram.status === 'fulfilled') {
    const all = { gigachat: gigachat.value, crm: crm.value, telegram: telegram.value }
    return {
      ...all,
      close: async () => {
        await Promise.all(Object.values(all).map((one) => one.close()))
      },
    }
  }
  // One port taken: the others must not stay behind.
  for (const one of started) if (one.status === 'fulfilled') await one.value.close()
  throw started.find((one) => one.status === 'rejected')?.reason
}
