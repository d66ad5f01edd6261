import type { Logger } from 'foothold'

/** The app's own lines, in the shape of the engine's: JSON on stderr. Debug lines are left out. */
export const log: Logger = {
  debug: () => undefined,
  info: (fields, message) => write('info', fields, message),
  warn: (fields, message) => write('warn', fields, message),
  error: (fields, message) => write('error', fields, message),
}

function write(level: string, fields: object, message: string): void {
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`)
}
