// The order numbers that a text names: digits behind a word for an order, the numbers listed after it, and other
// numbers of four digits or more that are plainly nothing else.

/** More than this is a list to work through, not a question. */
const NUMBERS_MAX = 10

const NOT_ORDERS = [
  /https?:\/\/\S{1,2000}/gi,
  /[^\s@]{1,64}@[^\s@]{1,255}/g,
  // Cards and phones.
  /\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}/g,
  /(?:\+\d{1,3}|\b8)[\s(-]*\d{3}[\s)-]*\d{3}[\s-]*\d{2}[\s-]*\d{2}(?!\d)/g,
  // Dates and times.
  /\d{4}-\d{2}-\d{2}\S*/g,
  /\b\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?(?!\d)/g,
  /\b\d{1,2}:\d{2}(?::\d{2})?/g,
  // Money and measures.
  /[$€₽£]\s?\d[\d\s.,]{0,24}/g,
  /\d[\d \u00a0.,]{0,24}\s?(?:₽|руб\p{L}*|р\.|тыс\p{L}*|rub\p{L}*|usd|eur|dollars?|euros?|%|кг|г|гр|мл|л|см|мм|км|шт|kg|g|ml|cm|mm|km|pcs|дн\p{L}*|день|дня|days?|час\p{L}*|hours?)(?![\p{L}])/giu,
  /\b(?:19|20)\d{2}\s?(?:год\p{L}*|г\.)/giu,
]

const FILLER = '(?:\\s*(?:№|#|:|номер\\p{L}*|number|no\\.?|id|is|с|под|от))*'
const NAMED = new RegExp(
  `(?:заказ\\p{L}*|покупк\\p{L}*|orders?|purchases?|номер\\p{L}*|numbers?|№|#)${FILLER}\\s*(?:\\p{L}{1,3}-)?(\\d{2,30})(?![\\d]|[.,]\\d)`,
  'giu',
)
const LISTED =
  /^\s*(?:,|;|\/|и|или|and|or|&)*\s*(?:и|and|или|or)?\s*(?:заказ\p{L}*|orders?)?\s*[№#]?\s*(\d{2,30})(?![\d]|[.,]\d)/iuy
const BARE = /(?<![\d.,+\p{L}-])(?:\p{Lu}{1,3}-)?(\d{4,30})(?![\d\p{L}]|[.,:/-]\d)/gu
const YEAR = /^(?:19[5-9]|20[0-4])\d$/

export function orderNumbersOf(text: string): string[] {
  const rest = NOT_ORDERS.reduce((left, form) => left.replace(form, ' … '), text)
  const found = new Map<string, number>()
  const add = (number: string, at: number): void => {
    if (!found.has(number)) found.set(number, at)
  }
  let readTo = 0
  for (const match of rest.matchAll(NAMED)) {
    if (match.index < readTo) continue
    add(match[1] as string, match.index)
    readTo = match.index + match[0].length
    for (let listed = listedAt(rest, readTo); listed !== null; listed = listedAt(rest, readTo)) {
      readTo += listed.text.length
      add(listed.number, readTo)
    }
  }
  for (const match of rest.matchAll(BARE)) {
    if (!YEAR.test(match[1] as string)) add(match[1] as string, match.index)
  }
  const inOrder = [...found].toSorted(([, a], [, b]) => a - b)
  return inOrder.map(([number]) => number).slice(0, NUMBERS_MAX)
}

/** The next number of a list that goes on at this place. */
function listedAt(text: string, at: number): { text: string; number: string } | null {
  LISTED.lastIndex = at
  const match = LISTED.exec(text)
  return match === null ? null : { text: match[0], number: match[1] as string }
}
