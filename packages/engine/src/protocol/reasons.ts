/**
 * Why an attempt ended as it did: one closed list, the same word in the column, the metric label, the log line and the
 * abort reason. An agent may register more with its worker, so that all of them are exported at 0 from the start.
 */
export const REASONS = [
  'completed',
  'graceful_shutdown',
  'paused',
  'orphaned',
  'lease_lost',
  'cancelled',
  'timeout',
  'deadline',
  'budget',
  'step_failed',
  'child_failed',
  'code_changed',
  'input_invalid',
  'effect_unknown',
  'effect_request_changed',
  'database_error',
  'database_unavailable',
  'llm_unavailable',
  'llm_rate_limited',
  'llm_unauthorized',
  'llm_incomplete',
  'llm_refused',
  'crm_unavailable',
  'crm_rejected',
  'retrieval_timeout',
] as const

export type Reason = (typeof REASONS)[number] | (string & {})

/** Merely unavailable: retried until the task's deadline instead of a number of tries. */
export function isUnavailability(reason: string): boolean {
  return reason.endsWith('_unavailable') || reason === 'llm_rate_limited'
}
