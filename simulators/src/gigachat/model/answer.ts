// The reply to a client: only what the function results, the knowledge and the request itself say.

import type { Concept } from '../../language/concepts.ts'
import { fittingArticles } from './knowledge.ts'
import { spokenLanguage } from './language.ts'
import { awaitsDelivery, leavesOf, type OrderFacts, type OrderFinding, orderFinding, pick } from './order-facts.ts'
import { roleOf } from './plan.ts'
import type { Prompt, ToolResult } from './prompt.ts'
import type { Reading } from './reading.ts'
import type { Wording } from './wording.ts'
import { ENGLISH } from './wording-en.ts'
import { RUSSIAN } from './wording-ru.ts'

export function answerText(prompt: Prompt, reading: Reading): string {
  const words = spokenLanguage(prompt.declaredLanguage ?? reading.language) === 'ru' ? RUSSIAN : ENGLISH
  const paragraphs = paragraphsOf(prompt, reading, words)
  const doubted = doubtedFigures(prompt.problems)
  const kept = paragraphs
    .map((sentences) => sentences.filter((sentence) => !doubted.some((figure) => sentence.includes(figure))))
    .filter((sentences) => sentences.length > 0)
  return kept.map((sentences) => sentences.join(' ')).join('\n\n')
}

function paragraphsOf(prompt: Prompt, reading: Reading, words: Wording): string[][] {
  const hello = words.hello(prompt.clientName)
  const results = byRole(prompt.toolResults)
  if (reading.kind === 'thanks') return [[words.youAreWelcome]]
  if (reading.kind === 'greeting') return [[hello, words.howToHelp]]

  const findings = results.order.map(orderFinding)
  const articles = fittingArticles(reading, prompt.knowledge, words.language, coveredBy(findings))
  const hasNothing = findings.length === 0 && articles.length === 0 && results.other.length === 0
  return [
    reading.isComplaint ? [hello, words.sorry] : [hello],
    ...findings.map((finding) => findingSentences(finding, words)),
    ...articles.map(({ text }) => [sentence(text)]),
    ...(hasNothing ? [[words.noAnswer]] : []),
    results.other.map((result) => otherSentence(result, words)),
    reading.attachmentNames.length > 0 ? [words.filesRead(reading.attachmentNames)] : [],
    results.ticket.map((result) => ticketSentence(result, words)),
  ]
}

function byRole(results: readonly ToolResult[]): Record<ReturnType<typeof roleOf>, ToolResult[]> {
  const of = (role: ReturnType<typeof roleOf>): ToolResult[] => results.filter(({ name }) => roleOf(name) === role)
  return { order: of('order'), ticket: of('ticket'), other: of('other') }
}

/** What an order that was found says better than any article. */
function coveredBy(findings: readonly OrderFinding[]): ReadonlySet<Concept> {
  const statuses = findings.flatMap((finding) => (finding.kind === 'found' ? [finding.facts.status ?? ''] : []))
  const covered = new Set<Concept>(statuses.length > 0 ? ['delivery', 'order', 'status', 'time'] : [])
  if (statuses.some((status) => /отмен|cancel/i.test(status))) covered.add('cancel')
  return covered
}

function findingSentences(finding: OrderFinding, words: Wording): string[] {
  switch (finding.kind) {
    case 'found':
      return orderSentences(finding.number, finding.facts, words)
    case 'missing':
      return [words.orderMissing(finding.number)]
    case 'unread':
      return [words.orderUnread(finding.number)]
  }
}

function orderSentences(number: string, facts: OrderFacts, words: Wording): string[] {
  const { title, status, amount, currency, deliveryDate } = facts
  return [
    words.order(number, title, status),
    ...(amount === null ? [] : [words.total(amount, currency)]),
    ...(deliveryDate === null ? [] : [words.deliveryOn(deliveryDate)]),
    ...(deliveryDate === null && awaitsDelivery(facts) ? [words.noDeliveryDate] : []),
  ]
}

function ticketSentence({ outcome, result }: ToolResult, words: Wording): string {
  switch (outcome) {
    case 'done':
      return words.ticketDone(pick(leavesOf(result), /^(ticket_?id|id|number)$/i))
    case 'unknown':
      return words.ticketUnknown
    case 'failed':
      return words.ticketFailed
  }
}

function otherSentence({ name, outcome, result }: ToolResult, words: Wording): string {
  return outcome === 'done' ? words.otherDone(name, leavesOf(result)) : words.otherUnread(name)
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`
}

/** Figures and quoted words in the complaints about an earlier draft: sentences with them are not said again. */
function doubtedFigures(problems: readonly string[]): string[] {
  return problems
    .flatMap((problem) => problem.match(/\d[\d.,: \u00a0/-]*\d|\d+|(?<=["«“])[^"»”]+(?=["»”])/gu) ?? [])
    .map((one) => one.trim())
}
