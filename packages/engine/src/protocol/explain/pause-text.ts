import type { Pause } from '../pauses.ts'
import { duration } from './durations.ts'

/** `agent support has been paused for 5 min: CRM is down (anna)` */
export function pauseText({ kind, value, since, reason, by }: Pause, now: Date): string {
  const said = [reason, by === null ? null : `(${by})`].filter((part) => part !== null).join(' ')
  const lasted = duration(Math.max(0, now.getTime() - since.getTime()))
  return `${kind} ${value} has been paused for ${lasted}${said === '' ? '' : `: ${said}`}`
}
