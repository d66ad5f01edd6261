import type { SimulatorControl } from '../control/client.ts'
import { jsonAnswer, type WireAnswer } from '../wire/answer.ts'
import type { WireRequest } from '../wire/request.ts'
import { type Exchange, type ServerOptions, type Service, startServer } from '../wire/server.ts'
import { crmControlRoutes } from './control-routes.ts'
import { CrmError } from './errors.ts'
import { IdempotencyKeys } from './idempotency.ts'
import { METHODS, type Outcome } from './methods.ts'
import { asRecord, type Row } from './query.ts'
import { QueryLimit } from './query-limit.ts'
import type { CrmSettings } from './settings.ts'
import { CrmState } from './state.ts'

export interface CrmOptions extends ServerOptions, Partial<CrmSettings> {
  /** Keeps what was committed over restarts: a file of JSON lines, made when absent. */
  readonly dataFile?: string
  /** The secret in the webhook's address. */
  readonly webhookSecret?: string
}

export interface RunningCrm {
  /** The incoming webhook's address, to which method names are appended. */
  readonly baseUrl: string
  readonly url: string
  readonly control: SimulatorControl
  readonly close: () => Promise<void>
}

export async function startCrm(options: CrmOptions = {}): Promise<RunningCrm> {
  const { dataFile = null, webhookSecret = 'simulator' } = options
  const initial: CrmSettings = {
    mode: options.mode ?? 'none',
    searchLagMs: options.searchLagMs ?? 0,
    queryLimit: options.queryLimit ?? null,
  }
  const server = await startServer(new CrmService(new CrmState(dataFile), webhookSecret, initial), options)
  return {
    baseUrl: `${server.url}/rest/1/${webhookSecret}/`,
    url: server.url,
    control: server.control,
    close: server.close,
  }
}

class CrmService implements Service {
  readonly name = 'CRM simulator'
  readonly secretInPath = /(?<=^\/rest\/\d+\/)[^/]+/
  readonly controlRoutes
  readonly #state: CrmState
  readonly #webhookSecret: string
  readonly #initial: CrmSettings
  readonly #keys = new IdempotencyKeys()
  #settings: CrmSettings
  #limit: QueryLimit | null = null

  constructor(state: CrmState, webhookSecret: string, initial: CrmSettings) {
    this.#state = state
    this.#webhookSecret = webhookSecret
    this.#initial = initial
    this.#settings = initial
    this.#configure({})
    this.controlRoutes = crmControlRoutes(state, (change) => this.#configure(change))
  }

  handle(request: WireRequest, exchange: Exchange): WireAnswer {
    const startedAt = Date.now()
    try {
      const { outcome, headers } = this.#answer(request, exchange)
      return jsonAnswer(200, { ...outcome, time: timeBlock(startedAt) }, headers)
    } catch (error) {
      if (error instanceof CrmError) return error.toAnswer()
      throw error
    }
  }

  reset(): void {
    this.#state.reset()
    this.#keys.clear()
    this.#settings = this.#initial
    this.#configure({})
  }

  #configure(change: Partial<CrmSettings>): CrmSettings {
    this.#settings = { ...this.#settings, ...change }
    const { queryLimit } = this.#settings
    this.#limit = queryLimit === null ? null : new QueryLimit(queryLimit.burst, queryLimit.perSecond)
    return this.#settings
  }

  #answer(request: WireRequest, exchange: Exchange): { outcome: Outcome; headers: Record<string, string> } {
    const name = this.#methodOf(request)
    const method = METHODS[name]
    if (method === undefined) throw new CrmError(404, 'ERROR_METHOD_NOT_FOUND', 'Method not found!')
    if (this.#limit?.allows(Date.now()) === false) {
      throw new CrmError(503, 'QUERY_LIMIT_EXCEEDED', 'Too many requests')
    }
    const parameters = parametersOf(request)
    const { mode, searchLagMs } = this.#settings
    const act = (): Outcome => method({ state: this.#state, parameters, exchange, searchLagMs })
    const key = request.headers['idempotency-key']
    if (mode === 'none' || key === undefined || name !== 'crm.item.add') return { outcome: act(), headers: {} }
    const { outcome, isReplay } = this.#keys.run(key, parameters, act)
    return { outcome, headers: isReplay ? { 'idempotent-replayed': 'true' } : {} }
  }

  #methodOf(request: WireRequest): string {
    const [, secret, method = ''] = /^\/rest\/\d+\/([^/]+)\/([\w.]+?)(?:\.json)?$/.exec(request.path) ?? []
    if (secret === undefined) throw new CrmError(404, 'ERROR_METHOD_NOT_FOUND', 'Method not found!')
    if (secret !== this.#webhookSecret) {
      throw new CrmError(401, 'INVALID_CREDENTIALS', 'Invalid request credentials')
    }
    return method
  }
}

function parametersOf({ body, query }: WireRequest): Row {
  if (body.kind === 'broken') throw new CrmError(400, 'INVALID_REQUEST', `Request body is not JSON: ${body.problem}`)
  if (body.kind === 'none') return Object.fromEntries(query)
  return asRecord(body.value, 'request')
}

function timeBlock(startedAt: number): Record<string, unknown> {
  const finishedAt = Date.now()
  return {
    start: startedAt / 1000,
    finish: finishedAt / 1000,
    duration: (finishedAt - startedAt) / 1000,
    processing: (finishedAt - startedAt) / 1000,
    date_start: new Date(startedAt).toISOString(),
    date_finish: new Date(finishedAt).toISOString(),
    operating: 0,
  }
}
