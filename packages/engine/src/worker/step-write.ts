import { cleanMessage, encode } from '../protocol/codec.ts'
import type { Failure } from '../protocol/failure.ts'
import type { StepWrite } from '../store/steps.ts'

/** What a step row holds unless its writer says otherwise. */
export const BLANK_WRITE: Omit<StepWrite, 'taskId' | 'attempt' | 'key' | 'kind' | 'status' | 'tries'> = {
  version: 1,
  retryable: true,
  refusals: 0,
  output: null,
  error: null,
  usage: null,
  dueInMs: null,
  doubtInMs: null,
  startedAgoMs: 0,
}

export function errorText({ code, message, reason, step }: Failure): string {
  const blamed = step === undefined ? {} : { step }
  return encode({ code, message: cleanMessage(message), reason, ...blamed }, 'the error')
}
