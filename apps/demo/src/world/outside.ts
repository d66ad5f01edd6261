import { type Simulators, startSimulators } from '@foothold/simulators'
import type { WorkerSettings } from '../worker/messages.ts'
import { type BookEntry, ledgerBook } from './ledger-book.ts'
import { openReplyDesk } from './reply-desk.ts'

/** Everything outside the workers: the model, the CRM and the desk that delivers replies, each with its ledger. */
export interface Outside {
  readonly addresses: Pick<WorkerSettings, 'gigachat' | 'services'>
  /** What was done so far, by the ledgers. */
  look(): Promise<Deeds>
  close(): Promise<void>
}

export interface Deeds {
  /** The request of each CRM record, in order. */
  readonly records: readonly string[]
  /** The request of each reply that reached its client. */
  readonly replies: readonly string[]
  readonly modelCalls: readonly ModelCall[]
}

export interface ModelCall {
  readonly task: string
  readonly kind: 'plan' | 'generate'
  /** Prompt and what was written of the answer, as the provider bills it. */
  readonly tokens: number
  readonly isWhole: boolean
}

/** Between pieces of three words: slow enough to be read, and to be killed in the middle. */
const CHUNK_DELAY_MS = 150
/** Real services take their time; the gap between a deed and its answer is where workers die worst. */
const DELAYS = { 'crm.item.add': 600, 'crm.deal.list': 300, 'crm.contact.get': 400 } as const
const PLAN_DELAY_MS = 700

export async function openOutside(): Promise<Outside> {
  const [simulators, desk] = await Promise.all([
    startSimulators({
      gigachat: { chunkDelayMs: CHUNK_DELAY_MS, parallelMax: 1_000, tokenRequestsPerSecond: 1_000 },
      crm: { mode: 'keys' },
    }),
    openReplyDesk(),
  ])
  await slowDown(simulators)
  const models = ledgerBook(simulators.gigachat.control)
  const records = ledgerBook(simulators.crm.control)
  return {
    addresses: {
      gigachat: {
        credentials: simulators.gigachat.credentials,
        baseUrl: simulators.gigachat.baseUrl,
        authUrl: simulators.gigachat.authUrl,
      },
      services: { crmUrl: simulators.crm.baseUrl, replyUrl: desk.url },
    },
    async look() {
      const [calls, made] = await Promise.all([models.read(), records.read()])
      return {
        records: made.flatMap(({ committed }) => (committed?.kind === 'crm.item' ? [String(committed.key)] : [])),
        replies: [...desk.delivered],
        modelCalls: calls.flatMap(modelCall),
      }
    },
    async close() {
      await Promise.all([simulators.close(), desk.close()])
    },
  }
}

async function slowDown({ crm, gigachat }: Simulators): Promise<void> {
  const delay = (firstByteMs: number) => ({ kind: 'delay', firstByteMs }) as const
  for (const [path, ms] of Object.entries(DELAYS)) {
    await crm.control.fault({ match: { path }, times: null, fault: delay(ms) })
  }
  const planning = { path: 'chat/completions', contains: '<functions>' }
  await gigachat.control.fault({ match: planning, times: null, fault: delay(PLAN_DELAY_MS) })
}

interface CompletionValue {
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number }
}

function modelCall({ received, committed }: BookEntry): ModelCall[] {
  if (committed?.kind !== 'completion' || received.sessionId === null) return []
  const { usage } = committed.value as CompletionValue
  const isPlan = JSON.stringify(received.body).includes('<functions>')
  const isWhole = received.answer.state === 'answered'
  const written = isWhole || isPlan ? usage.completion_tokens : received.answer.tokens
  const tokens = usage.prompt_tokens + written
  return [{ task: received.sessionId, kind: isPlan ? 'plan' : 'generate', tokens, isWhole }]
}
