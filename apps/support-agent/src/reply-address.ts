import { BlockList, isIP } from 'node:net'

/** Where replies may be sent: whoever writes a request must not reach our own network through us (SSRF). */
export type ReplyPolicy = 'public' | 'public_and_loopback' | 'any'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

const INTERNAL = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  INTERNAL.addSubnet(network, prefix, 'ipv4')
}
for (const [network, prefix] of [
  ['::', 128],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  INTERNAL.addSubnet(network, prefix, 'ipv6')
}

/** Null when a reply may go to this address. */
export function addressProblem(address: string, policy: ReplyPolicy): string | null {
  if (policy === 'any') return null
  const plain = unmapped(address)
  const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4'
  if (LOOPBACK.check(plain, family)) {
    return policy === 'public_and_loopback' ? null : `${address} is this machine itself`
  }
  return INTERNAL.check(plain, family) ? `${address} is not an address of the public internet` : null
}

/** What can be said before the name is looked up: the scheme, credentials, a literal address. */
export function replyToProblem(replyTo: string, policy: ReplyPolicy): string | null {
  if (!URL.canParse(replyTo)) return 'is not an address: give a full URL or leave it out'
  const { protocol, hostname, username, password } = new URL(replyTo)
  if (protocol !== 'http:' && protocol !== 'https:') return `starts with ${protocol}: only http: and https: are called`
  if (username !== '' || password !== '') return 'carries a name and password: leave them out'
  const host = hostname.replace(/^\[|\]$/g, '')
  const literal = isIP(host) === 0 ? (/(^|\.)localhost\.?$/i.test(host) ? '127.0.0.1' : null) : host
  const problem = literal === null ? null : addressProblem(literal, policy)
  return problem === null ? null : `${problem}: use an address that is reachable from outside`
}

/** `::ffff:10.0.0.1`, which the URL parser writes as `::ffff:a00:1`, is 10.0.0.1. */
function unmapped(address: string): string {
  const [, dotted, high, low] =
    /^(?:0*:)*:?(?:0*:)*ffff:(?:(\d+\.\d+\.\d+\.\d+)|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/i.exec(address) ?? []
  if (dotted !== undefined) return dotted
  if (high === undefined || low === undefined) return address
  const bits = (Number.parseInt(high, 16) << 16) | Number.parseInt(low, 16)
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.')
}
