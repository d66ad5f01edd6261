import type { AlertEffect, AlertMessage, AlertRepeat } from 'foothold'
import { joined, type Line, line, said } from './line.ts'
import { moment, until } from './times.ts'
import type { Words } from './words.ts'

const REASONS: Readonly<Record<string, string>> = {
  orphaned: 'the tasks cost their workers their life again and again',
  timeout: 'a step took longer than its limit, in each of its tries',
  deadline: 'the tasks did not end before their deadline; below is what had failed last',
  budget: 'a limit of tokens or money was used up',
  step_failed: 'a step failed in all of its tries, or for good',
  code_changed: 'what is stored does not fit the code that runs now; releases that have not refused it will try it',
  input_invalid: 'the input does not fit the agent',
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

export const EN: Words = {
  resolved: 'resolved',
  counted: ({ reason, tasks, since, lastAt }) =>
    tasks.total === 1
      ? line`1 ${said(noun(reason))}, ${said(moment(since))}.`
      : line`${tasks.total} ${said(noun(reason))}s since ${said(moment(since))}, the last one at ${said(until(since, lastAt))}.`,
  moved: ({ standing, total, underWay, completed, cancelled }) =>
    line`${standing} of ${total} still stand; ${underWay} under way again, ${completed} completed, ${cancelled} cancelled.`,
  ended: ({ reason, tasks, since, resolvedAt }) =>
    line`None of ${tasks.total} is a ${said(noun(reason))} any more, from ${said(moment(since))} to ${said(until(since, resolvedAt ?? since))}: ${tasks.completed} completed, ${tasks.cancelled} cancelled, ${tasks.underWay} under way.`,
  why: (reason) => line`Why: ${said(REASONS[reason] ?? reason)}.`,
  error: ({ step, message, tasks }) =>
    step === null ? line`• ${message} (${tasks})` : line`• ${stepLine(step)}: ${message} (${tasks})`,
  release,
  effects: (effects, examined) =>
    effects.length === 0
      ? line`Effects: none was begun.`
      : line`Effects done in ${examined}: ${joined(effects.map(effectLine), ', ')}.`,
  followUps: (followUps) =>
    followUps === null
      ? line`Follow-up: none; whoever waits for an answer was not told.`
      : line`Follow-ups: ${followUps.completed} completed, ${followUps.underWay} under way, ${followUps.deadLetters} dead; done in them: ${
          followUps.effects.length === 0
            ? said('no effect')
            : joined(
                followUps.effects.map(({ key, done }) => line`${key} ${done}`),
                ', ',
              )
        }.`,
  repeats: (repeats) =>
    repeats.length === 0
      ? line`Resume goes on behind the last stored step.`
      : line`Resume repeats ${joined(repeats.map(repeatLine), ', ')}; stored steps are not run again.`,
  unknown: ({ agent, tasks, since }) =>
    line`${tasks.standing} pending, and no live worker has had ${agent} since ${said(moment(since))}. They wait and lose nothing: start a worker with it, or with a version that continues it.`,
  known: ({ agent, since, resolvedAt }) =>
    line`Nothing is pending without a worker that has ${agent} any more, from ${said(moment(since))} to ${said(until(since, resolvedAt ?? since))}.`,
  mayBeRepeated: 'This may be a repetition: the sender before was cut off.',
}

/** What changed code has refused waits for other code and is no dead letter. */
function noun(reason: string): string {
  return reason === 'code_changed' ? 'stopped task' : 'dead letter'
}

function stepLine(key: string): Line {
  return key === '' ? said('the code between the steps') : line`step ${key}`
}

function effectLine({ key, done, inDoubt }: AlertEffect): Line {
  return inDoubt === 0 ? line`${key} ${done}` : line`${key} ${done} (${inDoubt} in doubt)`
}

function repeatLine({ step, kind, because, tasks }: AlertRepeat): Line {
  if (kind === 'run') return line`${stepLine('')} (${tasks})`
  return because === 'doubt' ? line`${step} (${tasks}, it may have happened)` : line`${step} (${tasks})`
}

function release({ verdict, failed, completedBefore }: AlertMessage['release']): Line {
  const shares = (of: readonly { readonly release: string; readonly tasks: number }[]): Line =>
    joined(
      of.map((share) => line`${share.release} (${share.tasks})`),
      ', ',
    )
  switch (verdict) {
    case 'new': {
      const startedAt = failed[0]?.startedAt
      return line`Release: probably. All failures are on ${shares(failed)}, first started ${said(startedAt === undefined ? '-' : moment(startedAt))}; completed before: ${shares(completedBefore)}.`
    }
    case 'known':
      return line`Release: hardly. What fails now had completed tasks before: ${shares(completedBefore)}.`
    case 'several':
      return line`Release: hardly. Several fail alike: ${shares(failed)}.`
    case 'unknown':
      return line`Release: the labels do not tell.`
  }
}
