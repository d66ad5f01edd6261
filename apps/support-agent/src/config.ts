import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { detectRelease } from 'foothold'
import type { ReplyPolicy } from './reply-address.ts'

/** The only place that reads the environment. Everything wrong is said at once, each with its cure. */
export interface Config {
  readonly databaseUrl: string | null
  /** Past a pooler: for the heartbeat's own session. */
  readonly directUrl: string | null
  readonly gigachat: GigaChatConfig | null
  readonly crm: CrmConfig | null
  readonly telegram: TelegramConfig | null
  readonly onCall: OnCallConfig
  readonly host: string
  readonly port: number
  readonly token: string | null
  /** Opens /metrics of servers and workers, and nothing else. */
  readonly metricsToken: string | null
  /** A worker's own port for probes and metrics. */
  readonly operations: { readonly port: number; readonly host: string } | null
  readonly workers: number
  /** Requests that one worker handles at once. A model's provider may allow less: GigaChat's smallest contract, one. */
  readonly concurrency: number
  /** How long a request is tried while a service is away; then a person is told. */
  readonly deadlineMs: number
  readonly release: string | null
  readonly replyPolicy: ReplyPolicy
  readonly isColourWanted: boolean | null
}

export interface GigaChatConfig {
  readonly credentials: string
  readonly scope: string
  readonly baseUrl: string
  readonly authUrl: string
  readonly model: string
  /** In PEM form; trusted by this client alone. */
  readonly ca: string | null
}

export interface CrmConfig {
  readonly url: string
  readonly hasKeys: boolean
}

export interface TelegramConfig {
  readonly token: string
  readonly apiRoot: string
  readonly defaultChatId: string | null
}

/** Who is told of requests that failed for good. */
export interface OnCallConfig {
  readonly chatId: string | null
  readonly webhook: { readonly url: string; readonly token: string | null } | null
  readonly language: 'en' | 'ru'
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export type Environment = Readonly<Record<string, string | undefined>>

export function readConfig(environment: Environment = process.env, cwd: string = process.cwd()): Config {
  const read = new Reader(environment)
  const host = read.text('HOST') ?? '127.0.0.1'
  const config: Config = {
    databaseUrl: read.url('DATABASE_URL', /^postgres(ql)?:$/, 'postgres://user:password@127.0.0.1:5432/app'),
    directUrl: read.url('FOOTHOLD_DIRECT_URL', /^postgres(ql)?:$/, 'postgres://user:password@127.0.0.1:5432/app'),
    gigachat: gigachatConfig(read),
    crm: crmConfig(read),
    telegram: telegramConfig(read),
    onCall: onCallConfig(read),
    host,
    port: read.number('PORT', 4_400, 0, 65_535),
    token: read.text('FOOTHOLD_TOKEN'),
    metricsToken: read.text('FOOTHOLD_METRICS_TOKEN'),
    operations: operationsConfig(read),
    workers: read.number('WORKERS', 2, 1, 64),
    concurrency: read.number('CONCURRENCY', 20, 1, 1_000),
    deadlineMs: read.number('DEADLINE_SECONDS', 900, 1, 86_400) * 1_000,
    release: read.text('RELEASE') ?? detectRelease({ env: environment, cwd }) ?? null,
    replyPolicy: replyPolicy(read, host),
    isColourWanted: read.text('NO_COLOR') !== null ? false : read.text('FORCE_COLOR') !== null ? true : null,
  }
  read.throwIfWrong()
  return config
}

/** What `worker` and `server` cannot do without; `start` brings stand-ins for what is missing. */
export function requireSet<Key extends 'databaseUrl' | 'gigachat' | 'crm' | 'telegram'>(
  config: Config,
  keys: readonly Key[],
): Config & { readonly [K in Key]: NonNullable<Config[K]> } {
  const missing = keys.filter((key) => config[key] === null).map((key) => VARIABLES[key])
  if (missing.length === 0) return config as Config & { readonly [K in Key]: NonNullable<Config[K]> }
  throw new ConfigError(
    `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set. Set ${missing.length === 1 ? 'it' : 'them'}, or run \`npm start\`, which brings local stand-ins.`,
  )
}

const VARIABLES = {
  databaseUrl: 'DATABASE_URL',
  gigachat: 'GIGACHAT_CREDENTIALS',
  crm: 'CRM_URL',
  telegram: 'TELEGRAM_BOT_TOKEN',
} as const

/** The environment of a child: ours, and the addresses that only we know. */
export function childEnvironment(changes: Readonly<Record<string, string>>): Record<string, string | undefined> {
  return { ...process.env, ...changes }
}

/** For `ask`: where the server of `npm start` listens, unless told. */
export function readClientConfig(environment: Environment = process.env): { url: string; token: string | null } {
  const read = new Reader(environment)
  const url = read.url('FOOTHOLD_URL', /^https?:$/, 'http://127.0.0.1:4400')
  const port = read.number('PORT', 4_400, 0, 65_535)
  read.throwIfWrong()
  return { url: url ?? `http://127.0.0.1:${port}`, token: read.text('FOOTHOLD_TOKEN') }
}

function operationsConfig(read: Reader): Config['operations'] {
  const host = read.text('OPERATIONS_HOST') ?? '127.0.0.1'
  if (read.text('OPERATIONS_PORT') === null) return null
  return { port: read.number('OPERATIONS_PORT', 0, 0, 65_535), host }
}

function gigachatConfig(read: Reader): GigaChatConfig | null {
  const credentials = read.text('GIGACHAT_CREDENTIALS')
  if (credentials === null) return null
  if (!/^[A-Za-z0-9+/_=-]+$/.test(credentials)) {
    read.wrong('GIGACHAT_CREDENTIALS', 'is not base64', 'copy the authorisation key as the console shows it')
  }
  return {
    credentials,
    scope: read.text('GIGACHAT_SCOPE') ?? 'GIGACHAT_API_PERS',
    baseUrl: read.url('GIGACHAT_BASE_URL', /^https?:$/) ?? 'https://gigachat.devices.sberbank.ru/api/v1',
    authUrl: read.url('GIGACHAT_AUTH_URL', /^https?:$/) ?? 'https://ngw.devices.sberbank.ru:9443/api/v2/oauth',
    model: read.text('GIGACHAT_MODEL') ?? 'GigaChat-2-Pro',
    ca: read.pemFile('GIGACHAT_CA_FILE'),
  }
}

function crmConfig(read: Reader): CrmConfig | null {
  const url = read.url('CRM_URL', /^https?:$/, 'https://example.bitrix24.ru/rest/1/secret/')
  return url === null ? null : { url, hasKeys: read.flag('CRM_KEYS') }
}

function telegramConfig(read: Reader): TelegramConfig | null {
  const token = read.text('TELEGRAM_BOT_TOKEN')
  if (token === null) return null
  if (!/^\d+:[A-Za-z0-9_-]+$/.test(token)) {
    read.wrong(
      'TELEGRAM_BOT_TOKEN',
      'is not a bot token',
      'copy it as @BotFather gives it, digits, a colon and letters',
    )
  }
  const defaultChatId = read.chatId('TELEGRAM_DEFAULT_CHAT_ID')
  const apiRoot = read.url('TELEGRAM_API_ROOT', /^https?:$/) ?? 'https://api.telegram.org'
  return { token, apiRoot, defaultChatId }
}

function onCallConfig(read: Reader): OnCallConfig {
  const chatId = read.chatId('ONCALL_TELEGRAM_CHAT_ID')
  // Managers get a message for each request: among those the one for on-call would drown.
  if (chatId !== null && chatId === read.text('TELEGRAM_DEFAULT_CHAT_ID')) {
    read.wrong('ONCALL_TELEGRAM_CHAT_ID', 'is TELEGRAM_DEFAULT_CHAT_ID too', 'give on-call a chat of its own')
  }
  const url = read.url('ONCALL_WEBHOOK_URL', /^https?:$/)
  const language = read.text('ONCALL_LANGUAGE') ?? 'en'
  if (language !== 'en' && language !== 'ru') {
    read.wrong('ONCALL_LANGUAGE', `is ${JSON.stringify(language)}`, 'use en or ru')
  }
  return {
    chatId,
    webhook: url === null ? null : { url, token: read.text('ONCALL_WEBHOOK_TOKEN') },
    language: language === 'ru' ? 'ru' : 'en',
  }
}

/** Whoever can only be reached from this machine may also answer to it; open to others, only to the public internet. */
function replyPolicy(read: Reader, host: string): ReplyPolicy {
  const given = read.text('REPLY_TO')
  switch (given) {
    case 'public':
    case 'any':
      return given
    case 'loopback':
      return 'public_and_loopback'
    case null:
      return isLoopback(host) ? 'public_and_loopback' : 'public'
    default:
      read.wrong('REPLY_TO', `is ${JSON.stringify(given)}`, 'use public, loopback (public and this machine) or any')
      return 'public'
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

class Reader {
  readonly #environment: Environment
  readonly #problems: string[] = []

  constructor(environment: Environment) {
    this.#environment = environment
  }

  /** An empty variable is one that is not set: so it comes out of compose files. */
  text(name: string): string | null {
    const value = this.#environment[name]?.trim()
    return value === undefined || value === '' ? null : value
  }

  number(name: string, otherwise: number, min: number, max: number): number {
    const text = this.text(name)
    if (text === null) return otherwise
    const value = Number(text)
    if (Number.isInteger(value) && value >= min && value <= max) return value
    this.wrong(name, `is ${JSON.stringify(text)}`, `use a whole number from ${min} to ${max}`)
    return otherwise
  }

  flag(name: string): boolean {
    const text = this.text(name)?.toLowerCase() ?? null
    if (text === null || ['0', 'false', 'no', 'off'].includes(text)) return false
    if (['1', 'true', 'yes', 'on'].includes(text)) return true
    this.wrong(name, `is ${JSON.stringify(text)}`, 'use 1 or 0')
    return false
  }

  /** The value is not shown: it may carry a password. */
  url(name: string, protocol: RegExp, example?: string): string | null {
    const text = this.text(name)
    if (text === null) return null
    if (URL.canParse(text) && protocol.test(new URL(text).protocol)) return text
    this.wrong(
      name,
      'is not an address of the expected kind',
      example === undefined ? 'use http(s)://…' : `for example ${example}`,
    )
    return null
  }

  chatId(name: string): string | null {
    const text = this.text(name)
    if (text !== null && !/^(-?\d{1,19}|@\w{3,})$/.test(text)) {
      this.wrong(name, 'is not a chat id', 'use digits, with a minus for groups, or @channel')
    }
    return text
  }

  pemFile(name: string): string | null {
    const path = this.text(name)
    if (path === null) return null
    try {
      const text = readFileSync(path, 'utf8')
      if (text.includes('-----BEGIN CERTIFICATE-----')) return text
      this.wrong(
        name,
        'holds no certificate in PEM form',
        'convert it: openssl x509 -inform der -in FILE -out FILE.pem',
      )
    } catch (error) {
      this.wrong(
        name,
        `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`,
        'give the path of a PEM file',
      )
    }
    return null
  }

  wrong(name: string, problem: string, cure: string): void {
    this.#problems.push(`${name} ${problem}: ${cure}.`)
  }

  throwIfWrong(): void {
    if (this.#problems.length > 0) throw new ConfigError(this.#problems.join('\n'))
  }
}
