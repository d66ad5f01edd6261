/** True for names that can only mean this machine; `name` as it stands in a Host header or a listen address, no port. */
export function isLoopbackName(name: string): boolean {
  const plain = name
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
  return plain === 'localhost' || plain === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(plain)
}

/** The name in a Host header; null for what is none. */
export function hostName(hostHeader: string): string | null {
  return /^(\[[0-9a-fA-F:.]+\]|[^\s:/?#@[\]]+)(?::\d{1,5})?$/.exec(hostHeader)?.[1]?.toLowerCase() ?? null
}
