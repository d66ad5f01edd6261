export type CheckLevel = 'ok' | 'warning' | 'error'

/** One line of the doctor's. */
export interface Check {
  readonly name: string
  readonly level: CheckLevel
  readonly text: string
  /** What to do; null where nothing is to be done. */
  readonly cure: string | null
}

export function ok(name: string, text: string): Check {
  return { name, level: 'ok', text, cure: null }
}

export function warning(name: string, text: string, cure: string | null = null): Check {
  return { name, level: 'warning', text, cure }
}

export function error(name: string, text: string, cure: string | null = null): Check {
  return { name, level: 'error', text, cure }
}

export function worst(checks: readonly Check[]): CheckLevel {
  if (checks.some((check) => check.level === 'error')) return 'error'
  return checks.some((check) => check.level === 'warning') ? 'warning' : 'ok'
}
