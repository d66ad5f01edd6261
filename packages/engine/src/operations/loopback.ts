/** True for names that can only mean this machine. */
export function isLoopbackName(name: string): boolean {
  const plain = name
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
  return plain === 'localhost' || plain === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(plain)
}
