import { cut } from './cut.ts'
import { duration, fromNow } from './durations.ts'
import type { Explanation, Outside, ReleaseVerdict, Repeat } from './explanation.ts'

const ATTEMPTS_MAX = 5
const STEPS_MAX = 8
const MESSAGE_CHARACTERS_MAX = 400
const DETAIL_CHARACTERS_MAX = 100

/**
 * An explanation in about ten lines of name and text. Texts hold what tasks, models and callers wrote: whoever shows them
 * on a terminal or a page escapes them first.
 */
export function explanationFields(said: Explanation): readonly (readonly [string, string])[] {
  const { budgets, at } = said
  const tenant = said.tenant === null ? '' : `, tenant ${said.tenant}`
  return [
    ['task', `${said.id}  ${said.agent}@${said.version}${tenant}`],
    ['stands', `${said.status} since ${said.since.toISOString()} (${fromNow(said.since, at)})`],
    ['why', cut(said.why, MESSAGE_CHARACTERS_MAX)],
    ...optional('release', releaseText(said.release, at)),
    [
      'budgets',
      `errors ${budgets.errors}, crashes ${budgets.crashes}/${budgets.crashesMax}, deploys ${budgets.deploys}`,
    ],
    ...optional('outside', outsideText(said.outside)),
    [said.status === 'dead_letter' ? 'resume' : 'goes on', wayOnText(said)],
    ...attemptFields(said),
    ...said.next.map((command, index): [string, string] => [index === 0 ? 'next' : '', command]),
  ]
}

function optional(name: string, text: string | null): [string, string][] {
  return text === null ? [] : [[name, text]]
}

/** What resuming, or the next attempt, does with steps that have run before. The keys are exact. */
export function wayOnText({ status, goesOn, repeats, leftInDoubt, stored }: Explanation): string {
  const asked = leftInDoubt.filter(({ does }) => does === 'ask').map(({ step }) => step)
  const told = leftInDoubt.filter(({ does }) => does === 'tell').map(({ step }) => step)
  const parts = [
    `will repeat: ${repeats.length === 0 ? 'nothing' : repeats.map(repeatText).join(', ')}`,
    ...(asked.length === 0 ? [] : [`a person is asked about: ${listed(asked)}`]),
    ...(told.length === 0 ? [] : [`stays unknown: ${listed(told)}`]),
    `will not repeat: ${listed(stored)}`,
  ]
  switch (goesOn) {
    case 'never':
      return 'it has ended'
    case 'in_vain':
      return `in vain, it would end at the same place; ${parts.join('; ')}`
    case 'by_itself':
      return `${status === 'processing' ? 'whoever takes over' : 'the next attempt'} ${parts.join('; ')}`
    case 'by_resume':
      return parts.join('; ')
  }
}

function listed(texts: readonly string[]): string {
  if (texts.length === 0) return 'nothing'
  const rest = texts.length - STEPS_MAX
  return `${rest > 0 ? `(${rest} earlier ones) ` : ''}${texts.slice(-STEPS_MAX).join(', ')}`
}

function repeatText({ step, does }: Repeat): string {
  switch (does) {
    case 'run':
      return step
    case 'send':
      return `${step} (sent under a new key)`
    case 'send_again':
      return `${step} (in doubt: the same request under the same key)`
    case 'look_up':
      return `${step} (in doubt: looked up first, sent only if it is not found)`
    case 'settle':
      return `${step} (in doubt: settled first)`
  }
}

/** Whether the client, or anybody outside, has heard of the task. Null: it changes nothing outside, as far as is known. */
export function outsideText({ done, inDoubt, refused, followUp }: Outside): string | null {
  const parts = [
    ...(done.length === 0 ? [] : [`done: ${listed(done)}`]),
    ...(inDoubt.length === 0 ? [] : [`in doubt: ${listed(inDoubt)}`]),
    ...(refused.length === 0 ? [] : [`refused: ${listed(refused)}`]),
    ...(followUp === null ? [] : [`follow-up ${followUp.id} ${followUp.status}`]),
  ]
  return parts.length === 0 ? null : parts.join('; ')
}

/** Null: nothing has failed. */
export function releaseText(verdict: ReleaseVerdict, at: Date): string | null {
  switch (verdict.kind) {
    case 'no_failure':
      return null
    case 'perhaps': {
      const { release, since, before } = verdict
      const last = `${before.release} did, last ${fromNow(before.lastSuccessAt, at)}`
      return `perhaps it: ${release} came ${fromNow(since, at)} and has completed no task of this agent; ${last}`
    }
    case 'unlikely': {
      const { release, lastSuccessAt, also } = verdict
      if (lastSuccessAt === null) return `hardly: it failed under ${also ?? 'another'} before ${release} came`
      return `hardly: ${release} has completed other tasks of this agent, last ${fromNow(lastSuccessAt, at)}`
    }
    case 'unknown':
      return verdict.release === null
        ? 'unknown: the worker that failed had no release label, or is not registered any more'
        : `unknown: it failed under ${verdict.release}, and no earlier release has completed a task of this agent lately`
  }
}

function attemptFields({ attempts }: Explanation): [string, string][] {
  const shown = attempts.slice(-ATTEMPTS_MAX)
  const earlier = attempts.length - shown.length
  if (shown.length === 0) return [['attempts', 'none has ended']]
  return shown.map(({ attempt, outcome, reason, detail, startedAt, endedAt, workerId }, index) => {
    const why = reason === null || reason === outcome ? '' : ` (${reason})`
    const took = duration(endedAt.getTime() - startedAt.getTime())
    const more = detail === null ? '' : `: ${cut(detail, DETAIL_CHARACTERS_MAX)}`
    const before = index === 0 && earlier > 0 ? `  (${earlier} earlier ones not shown)` : ''
    return [index === 0 ? 'attempts' : '', `${attempt}  ${outcome}${why} after ${took} by ${workerId}${more}${before}`]
  })
}
