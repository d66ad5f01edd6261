import { type Concept, conceptsOf } from '../../language/concepts.ts'
import { isStopWord, wordsOf } from '../../language/words.ts'
import { languageOf } from './language.ts'
import { orderNumbersOf } from './order-numbers.ts'
import type { Prompt } from './prompt.ts'

/** What the model understands of a request. */
export interface Reading {
  /** A greeting or thanks and nothing else needs no action. */
  readonly kind: 'greeting' | 'thanks' | 'request'
  readonly language: string
  readonly orderNumbers: readonly string[]
  readonly isComplaint: boolean
  readonly concepts: ReadonlySet<Concept>
  readonly words: readonly string[]
  readonly attachmentNames: readonly string[]
  /** The matter in one line. */
  readonly summary: string
}

export function readRequest(prompt: Prompt): Reading {
  const { request, attachments } = prompt
  const text = request.trim() === '' ? attachments : request
  const words = wordsOf(text)
  return {
    kind: attachments === '' ? kindOf(words) : 'request',
    language: languageOf(text),
    orderNumbers: namedOrders(prompt),
    isComplaint: COMPLAINT.test(text),
    concepts: conceptsOf(words),
    words,
    attachmentNames: attachmentNames(attachments),
    summary: summaryOf(text),
  }
}

const COMPLAINT =
  /жалоб|недовол|ужас|плохо|плохой|плохая|обман|возмут|безобраз|сломан|сломал|брак(?!он)|разбит|поврежд|опазд|задерж|не приш|не привез|не работает|complain|terrible|awful|angry|upset|broken|damaged|defect|late\b|never (?:came|arrived)|does(?:n't| not) work/iu

const GREETINGS = new Set(
  'здравствуйте здравствуй привет приветствую добрый доброе доброго день утро вечер дня hello hi hey good morning afternoon evening day dear уважаемые team there'.split(
    ' ',
  ),
)
const THANKS = new Set('спасибо благодарю большое огромное thanks thank many cheers'.split(' '))

function kindOf(words: readonly string[]): Reading['kind'] {
  if (words.length === 0) return 'request'
  const hasThanks = words.some((word) => THANKS.has(word))
  const isPolite = words.every((word) => GREETINGS.has(word) || THANKS.has(word) || isStopWord(word))
  const hasGreeting = words.some((word) => GREETINGS.has(word))
  if (!isPolite || !(hasThanks || hasGreeting)) return 'request'
  return hasThanks ? 'thanks' : 'greeting'
}

// "And when will it come?" after a talk about one order.
const POINTS_BACK = /(?<!\p{L})(?:он|его|этот заказ|этого заказа|тот заказ|it|this order|that order)(?!\p{L})/iu

function namedOrders({ request, attachments, history }: Prompt): readonly string[] {
  const named = orderNumbersOf(request)
  if (named.length > 0) return named
  const attached = orderNumbersOf(attachments)
  if (attached.length > 0) return attached
  return POINTS_BACK.test(request) ? orderNumbersOf(history.at(-1) ?? '').slice(0, 1) : []
}

function attachmentNames(attachments: string): string[] {
  return [...attachments.matchAll(/^\[([^\];\n]+)[^\]\n]*\]$/gm)].map((match) => (match[1] ?? '').trim())
}

const SUMMARY_CHARACTERS_MAX = 160

function summaryOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  const sentence = /^.{12,}?[.!?](?=\s|$)/u.exec(line)?.[0] ?? line
  const characters = Array.from(sentence)
  if (characters.length <= SUMMARY_CHARACTERS_MAX) return sentence
  return `${characters.slice(0, SUMMARY_CHARACTERS_MAX - 1).join('')}…`
}
