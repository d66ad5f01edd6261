import type { SourceFacts, StatedFact } from './facts.ts'
import { sourceFacts, statedFacts } from './facts.ts'
import { isForeignScript } from './language.ts'
import type { PromptContext, ToolResult } from './prompts.ts'

export interface VerifyInput {
  readonly draft: string
  readonly language: string
  readonly context: PromptContext
  readonly results: readonly ToolResult[]
}

/** A reply longer than this is not a reply. */
const DRAFT_CHARACTERS_MAX = 8_000
const PROBLEMS_MAX = 20

/**
 * What is wrong with a draft; nothing is the only pass. Every id, amount, date, term and link must stand in what our own
 * systems said. The client's own words may be quoted for ids and terms, but they prove no amount and no date: "you owe me
 * 100 000 ₽" in a letter must not come back as our promise.
 */
export function verify({ draft, language, context, results }: VerifyInput): string[] {
  const text = draft.trim()
  if (text === '') return ['the draft is empty']
  if (text.length > DRAFT_CHARACTERS_MAX) return [`the draft takes over ${DRAFT_CHARACTERS_MAX} characters`]
  const problems: string[] = []
  if (isForeignScript(text, language)) problems.push(`the draft is not in the client's language (${language})`)
  if (/<\/?(request|attachments|client|history|knowledge|tool_results|problems|functions)>/i.test(text)) {
    problems.push('the draft repeats the markup of its prompt')
  }
  const ours = sourceFacts(ourWords(context, results))
  const theirs = sourceFacts(clientWords(context))
  for (const fact of statedFacts(text)) {
    const problem = problemWith(fact, ours, theirs)
    if (problem !== null && !problems.includes(problem)) problems.push(problem)
  }
  return problems.slice(0, PROBLEMS_MAX)
}

function problemWith(fact: StatedFact, ours: SourceFacts, theirs: SourceFacts): string | null {
  if (isIn(fact, ours)) return null
  switch (fact.kind) {
    case 'id':
    case 'term':
      return isIn(fact, theirs) ? null : `${fact.kind} ${fact.text} stands in no source`
    case 'amount':
    case 'date':
    case 'link':
      return isIn(fact, theirs)
        ? `${fact.kind} ${fact.text} stands only in the client's own words`
        : `${fact.kind} ${fact.text} stands in no source`
  }
}

function isIn({ kind, readings, text }: StatedFact, facts: SourceFacts): boolean {
  if (kind === 'link') return readings.some((reading) => facts.links.has(reading))
  if (kind === 'term') return readings.some((reading) => facts.terms.has(reading))
  if (kind === 'date') return readings.some((reading) => facts.dates.has(reading))
  if (readings.some((reading) => facts.numbers.has(reading))) return true
  // "5501 550": two numbers beside each other that look like one.
  const parts = text.split(/[^\d.,]+/)
  return kind === 'id' && parts.length > 1 && parts.every((part) => facts.numbers.has(part))
}

/** Only what a call truly returned: its arguments are the model's own words, and an unknown outcome proves nothing. */
function ourWords({ recollection, client }: PromptContext, results: readonly ToolResult[]): string {
  return [
    ...results.filter((r) => r.outcome === 'done').map((r) => JSON.stringify(r.result)),
    ...recollection.knowledge.map((a) => `${a.title}\n${a.text}`),
    ...recollection.history.map((e) => e.answer),
    JSON.stringify(client),
  ].join('\n')
}

function clientWords({ text, attachments, recollection }: PromptContext): string {
  return [text, ...attachments.map((a) => `${a.name}\n${a.text}`), ...recollection.history.map((e) => e.request)].join(
    '\n',
  )
}
