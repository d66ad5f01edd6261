import { pauseText } from '../protocol/explain/pause-text.ts'
import type { Pause } from '../protocol/pauses.ts'
import { plainLine } from './plain-text.ts'

export function pauseLine(pause: Pause, now: Date): string {
  return plainLine(pauseText(pause, now))
}
