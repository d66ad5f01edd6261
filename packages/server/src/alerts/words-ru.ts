import type { AlertEffect, AlertMessage, AlertRepeat } from 'foothold'
import { joined, type Line, line, said } from './line.ts'
import { moment, until } from './times.ts'
import type { Words } from './words.ts'

const REASONS: Readonly<Record<string, string>> = {
  orphaned: 'задачи раз за разом роняли своих воркеров',
  timeout: 'шаг во всех попытках шёл дольше своего предела',
  deadline: 'задачи не успели к сроку; ниже то, что не удавалось перед этим',
  budget: 'исчерпан лимит токенов или денег',
  step_failed: 'шаг не удался во всех попытках или без права на повтор',
  code_changed: 'сохранённое не подходит к коду, который работает сейчас; релизы, которые ещё не отказались, попробуют',
  input_invalid: 'вход не подходит агенту',
  effect_unknown: 'никто не знает, произошло ли внешнее действие',
  effect_request_changed: 'внешнее действие запрошено иначе, чем было отправлено',
  database_error: 'база отказалась сохранить данные',
  database_unavailable: 'база была недоступна',
  llm_unavailable: 'модель была недоступна',
  llm_rate_limited: 'модель просила реже обращаться',
  llm_unauthorized: 'модель не приняла ключ',
  llm_incomplete: 'модель оборвала ответ на середине',
  llm_refused: 'модель отказалась отвечать',
  crm_unavailable: 'CRM была недоступна',
  crm_rejected: 'CRM отклонила запрос',
  retrieval_timeout: 'поиск контекста шёл слишком долго',
}

export const RU: Words = {
  resolved: 'решено',
  counted: ({ tasks, since, lastAt }) =>
    tasks.total === 1
      ? line`1 задача остановлена, ${said(moment(since))}.`
      : line`${tasks.total} ${said(plural(tasks.total, 'задача остановлена', 'задачи остановлены', 'задач остановлено'))} с ${said(moment(since))}, последняя в ${said(until(since, lastAt))}.`,
  moved: ({ standing, total, underWay, completed, cancelled }) =>
    line`Стоит ${standing} из ${total}; снова в работе ${underWay}, выполнено ${completed}, отменено ${cancelled}.`,
  ended: ({ tasks, since, resolvedAt }) =>
    line`Больше ни одна из ${tasks.total} не стоит, с ${said(moment(since))} до ${said(until(since, resolvedAt ?? since))}: выполнено ${tasks.completed}, отменено ${tasks.cancelled}, в работе ${tasks.underWay}.`,
  why: (reason) => line`Почему: ${said(REASONS[reason] ?? reason)}.`,
  error: ({ step, message, tasks }) =>
    step === null ? line`• ${message} (${tasks})` : line`• ${stepLine(step)}: ${message} (${tasks})`,
  release,
  effects: (effects, examined) =>
    effects.length === 0
      ? line`Внешние действия: ни одно не начато.`
      : line`Внешние действия, сделано в ${examined}: ${joined(effects.map(effectLine), ', ')}.`,
  followUps: (followUps) =>
    followUps === null
      ? line`Замещающего ответа нет: тем, кто ждёт, ничего не сказано.`
      : line`Замещающие задачи: выполнено ${followUps.completed}, в работе ${followUps.underWay}, остановлено ${followUps.deadLetters}; сделано в них: ${
          followUps.effects.length === 0
            ? said('ничего')
            : joined(
                followUps.effects.map(({ key, done }) => line`${key} ${done}`),
                ', ',
              )
        }.`,
  repeats: (repeats) =>
    repeats.length === 0
      ? line`Resume продолжит после последнего сохранённого шага.`
      : line`Resume повторит ${joined(repeats.map(repeatLine), ', ')}; сохранённые шаги не повторяются.`,
  unknown: ({ agent, tasks, since }) =>
    line`${tasks.standing} в очереди, и с ${said(moment(since))} ни у одного живого воркера нет ${agent}. Задачи ждут и ничего не теряют: запустите воркера с этой версией или с той, что её продолжает.`,
  known: ({ agent, since, resolvedAt }) =>
    line`Без воркера с ${agent} больше ничего не ждёт, с ${said(moment(since))} до ${said(until(since, resolvedAt ?? since))}.`,
  mayBeRepeated: 'Возможно, это повтор: прошлый отправитель оборвался.',
}

function plural(count: number, one: string, few: string, many: string): string {
  const form = new Intl.PluralRules('ru').select(count)
  return form === 'one' ? one : form === 'few' ? few : many
}

function stepLine(key: string): Line {
  return key === '' ? said('код между шагами') : line`шаг ${key}`
}

function effectLine({ key, done, inDoubt }: AlertEffect): Line {
  return inDoubt === 0 ? line`${key} ${done}` : line`${key} ${done} (под вопросом ${inDoubt})`
}

function repeatLine({ step, kind, because, tasks }: AlertRepeat): Line {
  if (kind === 'run') return line`${stepLine('')} (${tasks})`
  return because === 'doubt' ? line`${step} (${tasks}, возможно, уже произошло)` : line`${step} (${tasks})`
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
      return line`Релиз: вероятно, да. Все сбои на ${shares(failed)}, впервые запущен ${said(startedAt === undefined ? '-' : moment(startedAt))}; до этого справлялись: ${shares(completedBefore)}.`
    }
    case 'known':
      return line`Релиз: вряд ли. Тот же релиз до этого справлялся: ${shares(completedBefore)}.`
    case 'several':
      return line`Релиз: вряд ли. Сбои на нескольких: ${shares(failed)}.`
    case 'unknown':
      return line`Релиз: по меткам не видно.`
  }
}
