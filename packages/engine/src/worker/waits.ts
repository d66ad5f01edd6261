import { decode } from '../protocol/codec.ts'
import type { LoadedStep } from '../store/claim.ts'
import { consumeSignal } from '../store/steps.ts'
import type { Execution } from './execution.ts'
import { BLANK_WRITE } from './step-write.ts'

/** Sleeps and waits for signals: branches that park, and cost neither slot nor memory when the whole task waits. */

export async function runSleep(execution: Execution, key: string, forMs: () => number): Promise<void> {
  const step = execution.open(key, 'sleep', 1)
  if (step?.status === 'completed') return
  const dueAtMs = execution.services.clock.monotonicMs() + (step?.dueInMs ?? Math.max(0, forMs()))
  while (execution.services.clock.monotonicMs() < dueAtMs) {
    await execution.park({ key, kind: 'sleep', dueAtMs, reason: null, detail: null })
  }
  await storeWaitOver(execution, key, 'sleep')
}

/** Null when `timeoutMs` passed first. */
export async function runWaitForSignal(
  execution: Execution,
  key: string,
  name: string,
  timeoutMs: number | null,
): Promise<unknown> {
  const step = execution.open(key, 'signal', 1)
  if (step?.status === 'completed') return execution.valueOf(step)
  const dueAtMs = dueAt(execution, step, timeoutMs)
  for (;;) {
    const payload = await takeSignal(execution, key, name)
    if (payload !== null) return decode(payload)
    if (dueAtMs !== null && execution.services.clock.monotonicMs() >= dueAtMs) {
      return storeWaitOver(execution, key, 'signal')
    }
    await execution.park({ key, kind: 'signal', dueAtMs, reason: null, detail: null, signalName: name })
  }
}

function dueAt(execution: Execution, step: LoadedStep | null, timeoutMs: number | null): number | null {
  // The time-out of a wait that has begun counts from its beginning.
  const inMs = step?.status === 'waiting' ? step.dueInMs : timeoutMs
  return inMs === null ? null : execution.services.clock.monotonicMs() + inMs
}

async function takeSignal(execution: Execution, key: string, name: string): Promise<string | null> {
  for (let signal = execution.takeSignal(name); signal !== null; signal = execution.takeSignal(name)) {
    await execution.enter(key)
    try {
      const isTaken = await consumeSignal(
        execution.services.db,
        execution.fence,
        { key, signalId: signal.id, output: signal.payload },
        execution.statement('taking a signal'),
      )
      if (isTaken) return signal.payload
      const stored = await execution.stored(key)
      if (stored?.status === 'completed') return stored.output
    } finally {
      execution.leave()
    }
  }
  return null
}

export async function storeWaitOver(
  execution: Execution,
  key: string,
  kind: 'sleep' | 'signal' | 'approval',
): Promise<unknown> {
  await execution.enter(key)
  try {
    const answer = await execution.store({ ...BLANK_WRITE, key, kind, status: 'completed', tries: 0, output: 'null' })
    return answer.kind === 'stands' ? decode(answer.step.output ?? 'null') : null
  } finally {
    execution.leave()
  }
}
