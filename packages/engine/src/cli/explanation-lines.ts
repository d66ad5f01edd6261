import { duration, fromNow } from './durations.ts'
import type { Explanation, Repeat } from './explanation.ts'
import type { Output } from './output.ts'
import { cut, plainLine } from './plain-text.ts'
import { fieldLines } from './table.ts'
import { stepName } from './task-cause.ts'

const ATTEMPTS_MAX = 5
const STEPS_MAX = 8
const MESSAGE_CHARACTERS_MAX = 400

export function explanationLines(said: Explanation, now: Date, out: Output): string[] {
  const { budgets } = said
  const tenant = said.tenant === null ? '' : `, tenant ${plainLine(said.tenant)}`
  return fieldLines([
    ['task', `${said.id}  ${said.agent}@${said.version}${tenant}`],
    ['stands', `${out.paint('bold', said.status)} since ${said.since.toISOString()} (${fromNow(said.since, now)})`],
    ['why', plainLine(cut(said.why, MESSAGE_CHARACTERS_MAX))],
    [
      'budgets',
      `errors ${budgets.errors}, crashes ${budgets.crashes}/${budgets.crashesMax}, deploys ${budgets.deploys}`,
    ],
    ['stored', storedText(said.stored)],
    ['repeats', repeatsText(said)],
    ...attemptFields(said),
    ...said.next.map((command, index): [string, string] => [index === 0 ? 'next' : '', plainLine(command)]),
  ])
}

function storedText(keys: readonly string[]): string {
  if (keys.length === 0) return 'no step'
  const shown = keys.slice(-STEPS_MAX).map(plainLine)
  const rest = keys.length - shown.length
  return `${keys.length} ${keys.length === 1 ? 'step' : 'steps'}, not run again: ${rest > 0 ? '… ' : ''}${shown.join(', ')}`
}

function repeatsText({ status, repeats }: Explanation): string {
  if (status === 'completed') return 'nothing: it has ended'
  const texts = repeats.slice(0, STEPS_MAX).map(repeatText)
  const rest = repeats.length - texts.length
  const what = texts.length === 0 ? 'no step that has left a trace' : texts.join('; ')
  return `${what}${rest > 0 ? `; ${rest} more` : ''}`
}

function repeatText({ step, kind, because, tries }: Repeat): string {
  const name = plainLine(stepName({ key: step, kind }))
  switch (because) {
    case 'failed':
      return `${name} (failed, ${tries} ${tries === 1 ? 'try' : 'tries'})`
    case 'doubt':
      return `${name} (effect in doubt: it may have happened)`
    case 'unfinished':
      return `${name} (has begun, nothing is stored)`
  }
}

function attemptFields({ attempts }: Explanation): [string, string][] {
  const shown = attempts.slice(-ATTEMPTS_MAX)
  const earlier = attempts.length - shown.length
  if (shown.length === 0) return [['attempts', 'none has ended']]
  return shown.map(({ attempt, outcome, reason, detail, startedAt, endedAt, workerId }, index) => {
    const why = reason === null || reason === outcome ? '' : ` (${reason})`
    const took = duration(endedAt.getTime() - startedAt.getTime())
    const more = detail === null ? '' : `: ${cut(detail, 100)}`
    const text = `${attempt}  ${outcome}${why} after ${took} by ${workerId}${more}`
    const before = index === 0 && earlier > 0 ? `  (${earlier} earlier ones not shown)` : ''
    return [index === 0 ? 'attempts' : '', `${plainLine(text)}${before}`]
  })
}
