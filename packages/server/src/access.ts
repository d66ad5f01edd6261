import { createHash, timingSafeEqual } from 'node:crypto'
import { FootholdError } from 'foothold'
import { HttpProblem } from './http-problem.ts'
import { hostName, isLoopbackName } from './loopback.ts'

/**
 * Who may call. With a token: whoever bears it. Without one only this machine can reach the server, but any web page open
 * in a browser on it could; so the Host must be a loopback name, which a rebound DNS name is not, and a change must not
 * come from another origin.
 */
export interface AccessRule {
  /** Any of them will do; none: only this machine can reach the server. */
  readonly tokens: readonly string[]
  /** Host names besides loopback's that are right without a token: the application in front checks its callers. */
  readonly allowedHosts: readonly string[]
}

/** Throws HttpProblem. */
export function checkAccess(rule: AccessRule, request: Request): void {
  if (rule.tokens.length > 0) return checkBearer(rule.tokens, request.headers.get('authorization'))
  const host = request.headers.get('host') ?? new URL(request.url).host
  checkHost(rule.allowedHosts, host)
  if (request.method !== 'GET' && request.method !== 'HEAD') checkOrigin(request.headers.get('origin'), host)
}

/** A token must fit a header, and an empty one is a variable that somebody forgot to fill. */
export function checkToken(token: string): void {
  if (/^[\x21-\x7e]+$/.test(token)) return
  throw new FootholdError('INVALID_ARGUMENT', {
    field: 'token',
    problem: token === '' ? 'it is empty' : 'it contains spaces or characters outside of ASCII',
    cure: 'Use a long random one, for example from `openssl rand -hex 32`, or leave it out to serve loopback alone.',
  })
}

function checkBearer(tokens: readonly string[], header: string | null): void {
  const given = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1]
  if (given !== undefined && tokens.some((token) => isSameSecret(given, token))) return
  const problem = given === undefined ? 'A bearer token is needed' : 'The bearer token is wrong'
  throw new HttpProblem(401, 'UNAUTHORIZED', `${problem}: send the header \`Authorization: Bearer <token>\`.`, {
    headers: { 'www-authenticate': 'Bearer realm="foothold"' },
  })
}

/** Digests are of one length and are compared in constant time: neither length nor prefix of the secret leaks. */
function isSameSecret(given: string, wanted: string): boolean {
  return timingSafeEqual(digestOf(given), digestOf(wanted))
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function checkHost(allowedHosts: readonly string[], host: string): void {
  const name = hostName(host)
  if (name !== null && (isLoopbackName(name) || allowedHosts.includes(name))) return
  throw new HttpProblem(
    403,
    'HOST_REFUSED',
    `Without a token only loopback names are served, not ${JSON.stringify(host.slice(0, 200))}: set a token, or name the host in \`allowedHosts\`.`,
  )
}

function checkOrigin(origin: string | null, host: string): void {
  // Programs send no Origin; browsers always do with a POST.
  if (origin === null || origin.toLowerCase().replace(/^https?:\/\//, '') === host.toLowerCase()) return
  throw new HttpProblem(
    403,
    'ORIGIN_REFUSED',
    `Without a token a change must not come from another origin, and ${JSON.stringify(origin.slice(0, 200))} is not ${host}.`,
  )
}
