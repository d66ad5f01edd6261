import type { Logger } from '../protocol/foothold.ts'
import { wallMs } from './clock.ts'
import { loggable } from './loggable.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** What a logger asks of a stream; process.stderr and any Writable have it. */
export interface LogStream {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly writableLength?: number | undefined
  on?(event: 'error', listener: (error: Error) => void): unknown
}

export interface JsonLoggerOptions {
  /** Default process.stderr. */
  readonly stream?: LogStream | undefined
  /** The lowest level that is written. Default `info`. */
  readonly level?: LogLevel | undefined
  /** One readable line instead of JSON. Default: when the stream is a terminal. */
  readonly pretty?: boolean | undefined
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']
/** Lines wait in memory when the reader is slow; past this they are dropped and counted. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024

/** JSON lines `{time, level, message, …fields}`. Logging never throws and never ends the process. */
export function jsonLogger(options: JsonLoggerOptions = {}): Logger {
  const { stream = process.stderr, level = 'info', pretty = stream.isTTY === true } = options
  const lowest = LEVELS.indexOf(level)
  let droppedLines = 0
  surviveClosedPipe(stream)

  const write = (lineLevel: LogLevel, fields: object, message: string): void => {
    if (LEVELS.indexOf(lineLevel) < lowest) return
    if ((stream.writableLength ?? 0) > WAITING_BYTES_MAX) {
      droppedLines += 1
      return
    }
    const line = lineOf(lineLevel, droppedLines === 0 ? fields : { ...fields, droppedLines }, message)
    droppedLines = 0
    try {
      stream.write(`${hidePasswords(pretty ? prettyLine(line) : JSON.stringify(line))}\n`)
    } catch {
      // The log itself is broken: there is nowhere to say so.
    }
  }
  return {
    debug: (fields, message) => write('debug', fields, message),
    info: (fields, message) => write('info', fields, message),
    warn: (fields, message) => write('warn', fields, message),
    error: (fields, message) => write('error', fields, message),
  }
}

export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
}

interface Line {
  readonly time: string
  readonly level: LogLevel
  readonly message: string
  readonly [field: string]: unknown
}

function lineOf(level: LogLevel, fields: object, message: string): Line {
  const head = { time: new Date(wallMs()).toISOString(), level, message: String(loggable(message)) }
  try {
    const shown = loggable(fields instanceof Error ? { error: fields } : { ...fields }) as Record<string, unknown>
    // The three are ours: a field of that name keeps its value under another.
    for (const name of Object.keys(head)) {
      if (!Object.hasOwn(shown, name)) continue
      shown[`${name}_`] = shown[name]
      delete shown[name]
    }
    return { ...head, ...shown }
  } catch {
    return { ...head, fields: '[cannot be shown: reading them failed]' }
  }
}

function prettyLine({ time, level, message, ...fields }: Line): string {
  const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${prettyValue(value)}`)
  const line = `${time.slice(11, 23)} ${level.toUpperCase().padEnd(5)} ${message}${shown.join('')}`
  // Text from outside must neither break the line nor speak to the terminal.
  return line.replace(/\p{Cc}/gu, (control) => JSON.stringify(control).slice(1, -1).replace(control, '\uFFFD'))
}

function prettyValue(value: unknown): string {
  if (typeof value === 'string') return /^[\p{L}\p{N}_.:/@#-]+$/u.test(value) ? value : JSON.stringify(value)
  if (typeof value === 'object' && value !== null && 'stack' in value && 'message' in value) {
    const { name, code, message } = value as { name?: unknown; code?: unknown; message?: unknown }
    return JSON.stringify([name, code, message].filter((part) => part !== undefined && part !== '').join(' '))
  }
  return JSON.stringify(value) ?? String(value)
}

/** Connection URLs reach logs inside error messages. */
function hidePasswords(line: string): string {
  return line.replace(/(:\/\/[^\s:@/"]*:)[^\s@/"]+@/g, '$1***@')
}

const watched = new WeakSet<LogStream>()

/** Without a listener, the EPIPE of a reader that went away (`| head`) would end the process. */
function surviveClosedPipe(stream: LogStream): void {
  if (watched.has(stream)) return
  watched.add(stream)
  stream.on?.('error', () => {})
}
