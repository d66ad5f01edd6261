import { harmless, type Paint } from './terminal.ts'

/** A line of a child's log as a person reads it: when, who, what, and of which task. Null for a line that is no log. */
export function readableLine(name: string, line: string, paint: Paint): string {
  const entry = entryOf(line)
  if (entry === null) return `${paint('dim', name.padEnd(NAME_WIDTH))} ${harmless(line)}`
  const { time, level, message, task, step, worker: _worker, attempt, ...rest } = entry
  const colour = level === 'error' ? 'red' : level === 'warn' ? 'yellow' : message === 'task completed' ? 'green' : null
  const what = harmless(typeof step === 'string' ? `${message} ${step}` : message)
  const parts = [
    paint('dim', clock(time)),
    paint('cyan', name.padEnd(NAME_WIDTH)),
    ...(typeof task === 'string' ? [paint('dim', shortId(task))] : []),
    colour === null ? what : paint(colour, what),
    ...(typeof attempt === 'number' && attempt > 1 ? [`attempt ${attempt}`] : []),
    ...Object.entries(rest).flatMap(([field, value]) => shown(field, value)),
  ]
  return parts.join(' ')
}

const NAME_WIDTH = 10

type Entry = { readonly time: string; readonly level: string; readonly message: string } & Record<string, unknown>

function entryOf(line: string): Entry | null {
  if (!line.startsWith('{')) return null
  try {
    const entry = JSON.parse(line) as Partial<Entry>
    const isEntry = [entry.time, entry.level, entry.message].every((field) => typeof field === 'string')
    return isEntry ? (entry as Entry) : null
  } catch {
    return null
  }
}

function shown(field: string, value: unknown): string[] {
  if (value === null || value === undefined) return []
  if (field === 'ms' && typeof value === 'number') return [`${value} ms`]
  if (field === 'error' && typeof value === 'object') {
    const { message } = value as { message?: unknown }
    return [harmless(typeof message === 'string' ? message : 'error')]
  }
  return [harmless(`${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`.slice(0, 300))]
}

/** The end of a task's id: its beginning is the time, the same for all of today. */
export function shortId(id: string): string {
  return id.slice(-8)
}

function clock(time: string): string {
  const at = new Date(time)
  return Number.isNaN(at.getTime()) ? '' : at.toTimeString().slice(0, 8)
}
