import type { AlertCounts, AlertEffect, AlertFollowUps, AlertMessage, AlertRepeat } from 'foothold'
import type { Line } from './line.ts'
import { EN } from './words-en.ts'
import { RU } from './words-ru.ts'

export type Language = 'en' | 'ru'

/** What a message says, in one language. */
export interface Words {
  readonly resolved: string
  counted(message: AlertMessage): Line
  /** Where the tasks stand once some have left. */
  moved(counts: AlertCounts): Line
  ended(message: AlertMessage): Line
  why(reason: string): Line
  error(error: AlertMessage['errors'][number]): Line
  release(release: AlertMessage['release']): Line
  effects(effects: readonly AlertEffect[], examined: number): Line
  followUps(followUps: AlertFollowUps | null): Line
  repeats(repeats: readonly AlertRepeat[]): Line
  /** Pending tasks that no live worker can run; and that one can again. */
  unknown(message: AlertMessage): Line
  known(message: AlertMessage): Line
  readonly mayBeRepeated: string
}

export const WORDS: Readonly<Record<Language, Words>> = { en: EN, ru: RU }
