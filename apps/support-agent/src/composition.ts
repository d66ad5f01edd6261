import { type GigaChat, gigachat } from '@foothold/models'
import type { Logger } from 'foothold'
import pg from 'pg'
import { type SupportAgent, supportAgent } from './agent/support.ts'
import type { CrmConfig, GigaChatConfig, TelegramConfig } from './config.ts'
import { answers } from './integrations/answers.ts'
import { bitrixCrm } from './integrations/bitrix-crm.ts'
import { callbacks } from './integrations/callbacks.ts'
import { seedKnowledge } from './integrations/knowledge.ts'
import { createMemory } from './integrations/memory.ts'
import { migrate } from './integrations/migrations.ts'
import { telegram } from './integrations/telegram.ts'
import type { ReplyPolicy } from './reply-address.ts'

export interface Services {
  readonly databaseUrl: string
  readonly gigachat: GigaChatConfig
  readonly crm: CrmConfig
  readonly telegram: TelegramConfig
  readonly replyPolicy: ReplyPolicy
  readonly deadlineMs?: number
}

export interface Composition {
  readonly agent: SupportAgent
  close(): Promise<void>
}

const POOL_SIZE = 8
/** A statement of retrieval that takes longer counts as a timeout of retrieval. */
const STATEMENT_TIMEOUT_MS = 12_000

/** Joins the agent with the world: the only place that knows both. Brings the app's own tables up to date first. */
export async function compose(services: Services, logger: Logger): Promise<Composition> {
  const pool = openPool(services.databaseUrl, logger)
  let client: GigaChat | null = null
  try {
    await migrate(pool)
    await seedKnowledge(pool)
    const { ca, ...giga } = services.gigachat
    client = gigachat({ ...giga, ...(ca === null ? {} : { ca }) })
    const agent = supportAgent({
      model: client.model,
      memory: createMemory({ pool, embeddings: client.embeddings }),
      crm: bitrixCrm(services.crm),
      messenger: telegram(services.telegram),
      callbacks: callbacks(services.replyPolicy),
      answers,
      deadlineMs: services.deadlineMs,
      onStepDone: (done) => logger.info(done, 'step completed'),
    })
    const opened = client
    return {
      agent,
      async close() {
        await opened.close()
        await pool.end()
      },
    }
  } catch (error) {
    await client?.close()
    await pool.end()
    throw error
  }
}

function openPool(databaseUrl: string, logger: Logger): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: POOL_SIZE,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + 1_000,
    connectionTimeoutMillis: 10_000,
    application_name: 'support-agent',
  })
  // Without a listener a connection that the server ends would end this process.
  const onError = (error: Error): void => logger.debug({ error }, 'a database connection of the app failed')
  pool.on('error', onError)
  pool.on('connect', (client) => client.on('error', onError))
  return pool
}
