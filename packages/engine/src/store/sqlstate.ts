/**
 * What a failed statement means for its caller; docs/protocol.md, "Failures of the database".
 * - `away`: the connection or the server; repeat until patience ends
 * - `strange`: a fault of the server or nothing known; repeat a few times
 * - `ours`: the statement or its data; repeating will not help
 */
export type FailureKind = 'away' | 'strange' | 'ours'

const AWAY = /^(08...|57P0[1-5]|40001|40P01|55P03|0A000|26000|42P05|53...|25006)$/
const OURS = /^(21|22|23|42|54|44|2F|38|39|3D|3F|28|0L|0P)/

export function failureKind(error: unknown): FailureKind {
  const state = sqlState(error)
  if (state === null) return 'away'
  if (AWAY.test(state)) return 'away'
  return OURS.test(state) ? 'ours' : 'strange'
}

/** The server's SQLSTATE; null when the answer never came (socket, time-out, pool). */
export function sqlState(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null
  const { code } = error
  // Node's own codes (ECONNRESET, …) are longer or start with E and hold no digit.
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && /\d/.test(code) ? code : null
}

/** The data of one row, not the statement or the server: classes 21, 22, 23 and 54. */
export function isDataFailure(error: unknown): boolean {
  return /^(21|22|23|54)/.test(sqlState(error) ?? '')
}
