import { REASONS } from '../reasons.ts'

type Known = (typeof REASONS)[number]

/** The closed list of reasons in words; an agent's own reasons speak for themselves. */
const WORDS: Readonly<Record<Known, string>> = {
  completed: 'it was completed',
  graceful_shutdown: 'its worker was shut down and handed it over, free of charge',
  paused: 'it was handed over because of a pause, free of charge',
  orphaned: 'its worker was lost',
  lease_lost: 'its worker was taken for lost',
  cancelled: 'it was cancelled',
  timeout: 'a step took longer than its limit',
  deadline: 'it did not end before its deadline',
  budget: 'a limit of tokens or money was used up',
  step_failed: 'a step failed',
  child_failed: 'a child task did not complete',
  code_changed: 'the code changed under it: stored steps do not fit the code that ran',
  input_invalid: 'its input does not fit the agent',
  effect_unknown: 'nobody could know whether an effect had happened',
  effect_request_changed: 'an effect was asked for in another form than it had been sent',
  database_error: 'the database refused what had to be stored',
  database_unavailable: 'the database was away',
  llm_unavailable: 'the model was unavailable',
  llm_rate_limited: 'the model asked for fewer calls',
  llm_unauthorized: 'the model refused the credentials',
  llm_incomplete: 'the model broke off in the middle of its answer',
  llm_refused: 'the model refused to answer',
  crm_unavailable: 'the CRM was unavailable',
  crm_rejected: 'the CRM rejected the request',
  retrieval_timeout: 'the search for context took too long',
}

export function reasonWords(reason: string): string {
  return REASONS.includes(reason as Known) ? WORDS[reason as Known] : reason
}
