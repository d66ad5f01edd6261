import { startCrm, startGigaChat, startTelegram } from '@foothold/simulators'
import { endRequest, tellReady } from './lifeline.ts'

export const SIMULATED_SERVICES = ['gigachat', 'crm', 'telegram'] as const
export type SimulatedService = (typeof SIMULATED_SERVICES)[number]

export interface SimulatorSettings {
  /** The services to stand in for, with their ports; 0 is any free one. */
  readonly ports: { readonly [S in SimulatedService]?: number }
  /** A restarted process has the address of its predecessor, which others were told. */
  readonly crmSecret: string
  /** What the CRM has created outlives its process, as in a real one. */
  readonly crmDataFile: string
}

/** What the others need, as environment variables: they are configured as with the real services. */
export interface SimulatorsReady {
  readonly environment: Readonly<Record<string, string>>
  readonly urls: { readonly [S in SimulatedService]?: string }
}

/** Between pieces of an answer: slow enough to be read, and to be interrupted; a real answer takes longer still. */
const CHUNK_DELAY_MS = 120

/** The stand-ins of GigaChat, the CRM and Telegram, as far as they are wanted, in a process of their own. */
export async function runSimulators({ ports, crmSecret, crmDataFile }: SimulatorSettings): Promise<number> {
  const end = endRequest()
  const environment: Record<string, string> = {}
  const urls: { [S in SimulatedService]?: string } = {}
  const closing: (() => Promise<void>)[] = []
  if (ports.gigachat !== undefined) {
    const gigachat = await startGigaChat({ port: ports.gigachat, chunkDelayMs: CHUNK_DELAY_MS })
    closing.push(gigachat.close)
    urls.gigachat = gigachat.url
    environment['GIGACHAT_CREDENTIALS'] = gigachat.credentials
    environment['GIGACHAT_BASE_URL'] = gigachat.baseUrl
    environment['GIGACHAT_AUTH_URL'] = gigachat.authUrl
  }
  if (ports.crm !== undefined) {
    const crm = await startCrm({ port: ports.crm, webhookSecret: crmSecret, dataFile: crmDataFile })
    closing.push(crm.close)
    urls.crm = crm.url
    environment['CRM_URL'] = crm.baseUrl
  }
  if (ports.telegram !== undefined) {
    const telegram = await startTelegram({ port: ports.telegram })
    closing.push(telegram.close)
    urls.telegram = telegram.url
    environment['TELEGRAM_API_ROOT'] = telegram.apiRoot
    environment['TELEGRAM_BOT_TOKEN'] = telegram.token
    environment['TELEGRAM_DEFAULT_CHAT_ID'] = telegram.defaultChatId
  }
  tellReady({ environment, urls } satisfies SimulatorsReady)
  await end.requested
  await Promise.all(closing.map((close) => close()))
  return 0
}
