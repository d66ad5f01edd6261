/**
 * Facts that a text states in figures: numbers, dates, links. Reading is generous for sources (every reading of a number
 * counts) and strict for drafts (what is plainly an amount, an id or a term must be found).
 */

export interface SourceFacts {
  readonly numbers: ReadonlySet<string>
  /** Those of them that a unit of time follows. */
  readonly terms: ReadonlySet<string>
  /** `2026-12-05`, and `--12-05` for each of them. */
  readonly dates: ReadonlySet<string>
  readonly links: ReadonlySet<string>
}

export interface StatedFact {
  readonly kind: 'id' | 'amount' | 'term' | 'date' | 'link'
  /** As the draft writes it. */
  readonly text: string
  /** It is in the sources if one of these readings is. */
  readonly readings: readonly string[]
}

const MONTHS = [
  /^(янв|jan|січ)/i,
  /^(фев|feb|лют)/i,
  /^(мар|mar|бер)/i,
  /^(апр|apr|квіт)/i,
  /^(ма[йя]|may|трав)/i,
  /^(июн|jun|черв)/i,
  /^(июл|jul|лип)/i,
  /^(авг|aug|серп)/i,
  /^(сен|sep|вер)/i,
  /^(окт|oct|жовт)/i,
  /^(ноя|nov|лист)/i,
  /^(дек|dec|груд)/i,
]
const MONTH =
  '(?:янв(?:аря|арь|\\.)?|фев(?:раля|раль|р?\\.)?|март?а?|апр(?:еля|ель|\\.)?|ма[йя]|июн[ья]|июл[ья]|авг(?:уста|уст|\\.)?|сен(?:тября|тябрь|т?\\.)?|окт(?:ября|ябрь|\\.)?|ноя(?:бря|брь|б?\\.)?|дек(?:абря|абрь|\\.)?' +
  '|січня|лютого|березня|квітня|травня|червня|липня|серпня|вересня|жовтня|листопада|грудня' +
  '|jan(?:uary|\\.)?|feb(?:ruary|\\.)?|mar(?:ch|\\.)?|apr(?:il|\\.)?|may|june?\\.?|july?\\.?|aug(?:ust|\\.)?|sept?(?:ember|\\.)?|oct(?:ober|\\.)?|nov(?:ember|\\.)?|dec(?:ember|\\.)?)'
const NOT_IN_WORD = '(?<![\\p{L}\\d])'
const END = '(?![\\p{L}\\d])'

const DATE_FORMS: readonly { readonly form: RegExp; readonly read: (m: RegExpMatchArray) => string | null }[] = [
  { form: re(`(?<!\\d)(\\d{4})-(\\d{2})-(\\d{2})(?!\\d)`), read: (m) => date(m[1], m[2], m[3]) },
  { form: re(`(?<![\\d.])(\\d{1,2})[./](\\d{1,2})[./](\\d{4}|\\d{2})(?!\\d)`), read: (m) => date(m[3], m[2], m[1]) },
  {
    form: re(`${NOT_IN_WORD}(\\d{1,2})(?:-?го|st|nd|rd|th)?\\s+(?:of\\s+)?(${MONTH})${END}(?:,?\\s+(\\d{4}))?`),
    read: (m) => date(m[3], month(m[2]), m[1]),
  },
  {
    form: re(`${NOT_IN_WORD}(${MONTH})\\s+(\\d{1,2})(?:st|nd|rd|th)?${END}(?:,?\\s+(\\d{4}))?`),
    read: (m) => date(m[3], month(m[1]), m[2]),
  },
]

/** Of the text around a number, what decides its meaning; the whole of it would cost the square of its length. */
const NEAR = 40
const SPACE = '[ \\u00A0\\u202F\\u2009]'
const NUMBER = re(
  `\\d{1,3}(?:${SPACE}\\d{3})+(?:[.,]\\d{1,2})?(?!\\d)|\\d{1,3}(?:,\\d{3})+(?:\\.\\d{1,2})?(?!\\d)|\\d+(?:[.,]\\d+)?`,
)
// Every part is bounded and starts only where no longer one could: an address without its @ is looked at once.
const LINK =
  /https?:\/\/[^\s<>"'«»)\]]{1,2000}|(?<![\p{L}\d._%+-])[\p{L}\d._%+-]{1,64}@[\p{L}\d.-]{1,200}\.\p{L}{2,20}/giu
const CURRENCY_AFTER =
  /^\s?(?:₽|руб|р\.|р(?![\p{L}])|коп|rub|usd|eur|kzt|byn|uah|dollar|euro|ruble|rouble|доллар|евро|тенге|тг|грн|гривен|[$€£₸₴%]|процент|percent)/iu
const CURRENCY_BEFORE = /(?:[$€£₽₸₴]|rub|usd|eur)\s?$/iu
const TERM_AFTER =
  /^(?:-?(?:х|ти|и|го|й|ый))?\s?(?:(?:рабоч|календарн|банковск)\p{L}*\s|(?:business|working|calendar)\s)?(?:час|мин|сек|сут|дн|день|недел|месяц|год|лет|year|month|week|day|hour|minute)/iu
const ID_BEFORE =
  /(?:№|#|\bno\.?|\bid|заказ\p{L}*|обращени\p{L}*|заявк\p{L}*|тикет\p{L}*|номер\p{L}*|order|ticket|request|case|number)\s*[:№#]?\s*$/iu

export function sourceFacts(text: string): SourceFacts {
  const dates = new Set<string>()
  const numbers = new Set<string>()
  const terms = new Set<string>()
  let rest = text
  for (const { form, read } of DATE_FORMS) {
    rest = rest.replace(form, (...found) => {
      const date = read(found as unknown as RegExpMatchArray)
      if (date === null) return found[0] as string
      dates.add(date).add(date.replace(/^\d{4}/, '-'))
      // "в 2026 году" is said by every date of that year; its day and month are no numbers of their own.
      for (const year of date.match(/^\d{4}/) ?? []) for (const set of [numbers, terms]) set.add(year)
      return ' '
    })
  }
  for (const match of rest.matchAll(NUMBER)) {
    const isTerm = kindAt(rest, match) === 'term'
    for (const reading of readings(match[0])) {
      numbers.add(reading)
      if (isTerm) terms.add(reading)
    }
  }
  // Also as bare runs of digits: "12 490" may be two numbers, and a part of a longer code is a name of its own.
  for (const match of rest.matchAll(/\d+/g)) numbers.add(canonical(match[0]))
  return { numbers, terms, dates, links: new Set([...text.matchAll(LINK)].map((m) => link(m[0]))) }
}

export function statedFacts(draft: string): StatedFact[] {
  const facts: StatedFact[] = []
  let rest = draft
  const take = (form: RegExp, read: (m: RegExpMatchArray) => StatedFact | null): void => {
    rest = rest.replace(form, (...found) => {
      const match = found.slice(0, -2) as unknown as RegExpMatchArray
      const fact = read(match)
      if (fact === null) return match[0] as string
      facts.push(fact)
      return ' '
    })
  }
  take(LINK, (m) => ({ kind: 'link', text: m[0] as string, readings: [link(m[0] as string)] }))
  for (const { form, read } of DATE_FORMS) {
    take(form, (m) => {
      const found = read(m)
      return found === null ? null : { kind: 'date', text: (m[0] as string).trim(), readings: [found] }
    })
  }
  for (const match of rest.matchAll(NUMBER)) {
    const kind = kindAt(rest, match)
    if (kind !== null) facts.push({ kind, text: match[0], readings: readings(match[0]) })
  }
  return facts
}

function kindAt(text: string, { 0: number, index }: RegExpExecArray): ReturnType<typeof kindOf> {
  const end = index + number.length
  return kindOf(text.slice(Math.max(0, index - NEAR), index), number, text.slice(end, end + NEAR))
}

function kindOf(before: string, number: string, after: string): 'id' | 'amount' | 'term' | null {
  if (CURRENCY_AFTER.test(after) || CURRENCY_BEFORE.test(before)) return 'amount'
  if (TERM_AFTER.test(after) || /^\s?[-–—]\s?\d+/.test(after)) return isRangeOfTerm(after) ? 'term' : longEnough(number)
  // "1." and "2)" at the start of a line number a list.
  if (/(^|\n)[ \t]*$/.test(before) && /^[.)]\s/.test(after)) return null
  return ID_BEFORE.test(before) ? 'id' : longEnough(number)
}

function isRangeOfTerm(after: string): boolean {
  return TERM_AFTER.test(after.replace(/^\s?[-–—]\s?\d+/, ''))
}

/** Short bare figures count things ("2 файла"); from three digits on they name or measure something. */
function longEnough(number: string): 'id' | null {
  return number.replace(/\D/g, '').length >= 3 ? 'id' : null
}

/** "12,490" is 12490 in English and 12.49 in Russian. */
function readings(number: string): string[] {
  const compact = number.replace(re(SPACE), '')
  const decimal = canonical(compact.replace(',', '.'))
  return /^\d{1,3}(,\d{3})+(\.\d+)?$/.test(compact) ? [canonical(compact.replaceAll(',', '')), decimal] : [decimal]
}

function canonical(number: string): string {
  const [whole = '', fraction = ''] = number.split('.')
  const trimmed = fraction.replace(/0+$/, '')
  const integer = whole.replace(/^0+(?=\d)/, '')
  return trimmed === '' ? integer : `${integer}.${trimmed}`
}

function date(year: string | undefined, monthText: string | null | undefined, day: string | undefined): string | null {
  const m = Number(monthText)
  const d = Number(day)
  if (!(m >= 1 && m <= 12 && d >= 1 && d <= 31)) return null
  const y = year === undefined ? '-' : year.length === 2 ? `20${year}` : year
  return `${y}-${String(m).padStart(2, '0')}-${String(d).padStart(2, '0')}`
}

function month(name: string | undefined): string | null {
  const index = MONTHS.findIndex((form) => form.test(name ?? ''))
  return index === -1 ? null : String(index + 1)
}

function link(text: string): string {
  return text.toLowerCase().replace(/[.,;:!?]+$/, '')
}

function re(source: string): RegExp {
  return new RegExp(source, 'giu')
}
