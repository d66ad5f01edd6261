const ALPHABET = /^[A-Za-z0-9+/_-]*={0,2}$/

/** Buffer.from skips what is not base64 in silence, so a damaged file would be read as another one. */
export function base64Problem(base64: string): string | null {
  const compact = base64.replace(/\s/g, '')
  if (ALPHABET.test(compact) && compact.replaceAll('=', '').length % 4 !== 1) return null
  return compact.startsWith('data:')
    ? 'is a data: URL: send only what follows the comma'
    : 'is not base64: encode the file again, or send `text`'
}
