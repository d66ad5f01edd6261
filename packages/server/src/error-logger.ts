import type { Logger } from 'foothold'
import type { ErrorLogger } from './problem-answer.ts'

export function errorLogger(logger: Logger | 'silent' | undefined): ErrorLogger {
  if (logger === 'silent') return { error: () => {} }
  return logger ?? STDERR
}

const STDERR: ErrorLogger = {
  error: (fields, message) => {
    const line = JSON.stringify({ level: 'error', time: new Date().toISOString(), ...fields, msg: message })
    process.stderr.write(`${line}\n`)
  },
}
