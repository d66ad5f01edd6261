import { parseArgs } from 'node:util'
import type { Language } from './agent/request.ts'
import type { Guard } from './worker/messages.ts'

export interface DemoOptions {
  /** A script instead of keys, with a verdict at its end. */
  readonly isPlay: boolean
  readonly seed: number
  readonly guard: Guard
  readonly language: Language
  /** The verdict as one JSON document on stdout. */
  readonly isJson: boolean
}

export const USAGE = `usage: foothold demo [--play] [--seed <n>] [--guard on|off] [--lang ru|en] [--json]
  without --play the keys are yours: k, d, f, g, l, q
  --play    at least 40 requests, 3 kill -9, 2 deploys and a freeze, then a verdict and the exit code
  --guard   off: the same agent written without Foothold`

export class DemoUsageError extends Error {
  override readonly name = 'DemoUsageError'
}

export function readOptions(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): DemoOptions {
  const { play, seed, guard, lang, json } = parsed(argv)
  const seedNumber = Number(seed ?? '1')
  if (!Number.isInteger(seedNumber) || seedNumber < 0 || seedNumber > 2 ** 32 - 1) {
    throw new DemoUsageError(`--seed: ${JSON.stringify(seed)} is not a whole number from 0 to 4294967295.`)
  }
  const language = lang ?? (/^ru/i.test(env['LC_ALL'] || env['LC_MESSAGES'] || env['LANG'] || '') ? 'ru' : 'en')
  return {
    isPlay: play === true,
    seed: seedNumber,
    guard: oneOf('--guard', guard ?? 'on', ['on', 'off']),
    language: oneOf('--lang', language, ['ru', 'en']),
    isJson: json === true,
  }
}

interface Parsed {
  readonly play?: boolean | undefined
  readonly seed?: string | undefined
  readonly guard?: string | undefined
  readonly lang?: string | undefined
  readonly json?: boolean | undefined
}

function parsed(argv: readonly string[]): Parsed {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        play: { type: 'boolean' },
        seed: { type: 'string' },
        guard: { type: 'string' },
        lang: { type: 'string' },
        json: { type: 'boolean' },
      },
    })
    return values
  } catch (error) {
    throw new DemoUsageError((error as Error).message)
  }
}

function oneOf<Word extends string>(option: string, given: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === given)
  if (found === undefined)
    throw new DemoUsageError(`${option}: ${JSON.stringify(given)} is none of ${words.join(', ')}.`)
  return found
}
