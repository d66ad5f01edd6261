import { fromNow } from '../protocol/explain/durations.ts'
import type { LifelineSwitch } from '../protocol/foothold.ts'
import { plainLine } from './plain-text.ts'

export function lifelineLine(state: LifelineSwitch, now: Date): string {
  if (state.isOn) return 'The lifeline is on: killed workers are noticed at once.'
  const by = state.by === null ? '' : ` by ${state.by}`
  const reason = state.reason === null ? '' : `: ${state.reason}`
  return plainLine(`The lifeline was switched off${by} ${fromNow(state.since, now)}${reason}`)
}
