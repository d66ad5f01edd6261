import { FootholdError } from 'foothold'
import { isLoopbackName } from './loopback.ts'

/** Whoever reaches an open server can submit, read and cancel everything, so it is open to this machine alone. */
export function checkListenAddress(host: string, isGuarded: boolean): void {
  if (isGuarded || isLoopbackName(host)) return
  throw new FootholdError('INVALID_ARGUMENT', {
    field: 'host',
    problem: `${JSON.stringify(host)} can be reached from other machines, and no token is set`,
    cure: 'Set `token` (for example from `openssl rand -hex 32`), or listen on 127.0.0.1.',
  })
}

/** An address that a person on this machine can open. */
export function urlOf(host: string, port: number): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

export function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') return error
  const problem = error.code === 'EADDRINUSE' ? 'is taken by another process' : 'needs rights that this process lacks'
  return new FootholdError(
    'INVALID_ARGUMENT',
    { field: 'port', problem: `${port} on ${host} ${problem}`, cure: 'Use another port, or 0 for any free one.' },
    { cause: error },
  )
}
