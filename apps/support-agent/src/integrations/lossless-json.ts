const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/**
 * JSON with whole numbers past 2^53 as strings of their digits. JSON.parse rounds them before anyone can look, and ids of
 * CRMs and messengers are that large.
 */
export function parseLosslessJson(text: string): unknown {
  return JSON.parse(text.replace(STRING_OR_NUMBER, quotedIfUnsafe))
}

function quotedIfUnsafe(token: string): string {
  if (token.startsWith('"') || /[.eE]/.test(token)) return token
  return Number.isSafeInteger(Number(token)) ? token : `"${token}"`
}
