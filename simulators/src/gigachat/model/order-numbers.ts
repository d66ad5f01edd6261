// The order numbers that a text names: digits behind a word for an order, the numbers listed after it, and other
// numbers of four digits or more that are plainly nothing else.

/** More than this is a list to work through, not a question. */
const NUMBERS_MAX = 10

const NOT_ORDERS = [
  /https?:\/\/\S+/gi,
  /\S+@\S+\.\S+/g,
  // Cards and phones.
  /\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}/g,
  /(?:\+\d{1,3}|\b8)[\s(-]*\d{3}[\s)-]*\d{3}[\s-]*\d{2}[\s-]*\d{2}(?!\d)/g,
  // Dates and times.
  /\d{4}-\d{2}-\d{2}\S*/g,
  /\b\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?(?!\d)/g,
  /\b\d{1,2}:\d{2}(?::\d{2})?/g,
  // Money and measures.
  /[$€₽£]\s?\d[\d\s.,]*/g,
  /\d[\d \u00a0.,]*\s?(?:₽|руб\p{L}*|р\.|тыс\p{L}*|rub\p{L}*|usd|eur|dollars?|euros?|%|кг|г|гр|мл|л|см|мм|км|шт|kg|g|ml|cm|mm|km|pcs|дн\p{L}*|день|дня|days?|час\p{L}*|hours?)(?![\p{L}])/giu,
  /\b(?:19|20)\d{2}\s?(?:год\p{L}*|г\.)/giu,
]

const FILLER = '(?:\\s*(?:№|#|:|номер\\p{L}*|number|no\\.?|id|is|с|под|от))*'
const NAMED = new RegExp(
  `(?:заказ\\p{L}*|покупк\\p{L}*|orders?|purchases?|номер\\p{L}*|numbers?|№|#)${FILLER}\\s*(?:\\p{L}{1,3}-)?(\\d{2,30})(?![\\d]|[.,]\\d)`,
  'giu',
)
const LISTED =
  /^\s*(?:,|;|\/|и|или|and|or|&)*\s*(?:и|and|или|or)?\s*(?:заказ\p{L}*|orders?)?\s*[№#]?\s*(\d{2,30})(?![\d]|[.,]\d)/iu
const BARE = /(?<![\d.,+\p{L}-])(?:\p{Lu}{1,3}-)?(\d{4,30})(?![\d\p{L}]|[.,:/-]\d)/gu
const YEAR = /^(?:19[5-9]|20[0-4])\d$/

export function orderNumbersOf(text: string): string[] {
  const rest = NOT_ORDERS.reduce((left, form) => left.replace(form, ' … '), text)
  const found = new Map<string, number>()
  const add = (number: string, at: number): void => {
    if (!found.has(number)) found.set(number, at)
  }
  for (const match of rest.matchAll(NAMED)) {
    add(match[1] as string, match.index)
    let at = match.index + match[0].length
    for (let listed = LISTED.exec(rest.slice(at)); listed !== null; listed = LISTED.exec(rest.slice(at))) {
      at += listed[0].length
      add(listed[1] as string, at)
    }
  }
  for (const match of rest.matchAll(BARE)) {
    if (!YEAR.test(match[1] as string)) add(match[1] as string, match.index)
  }
  const inOrder = [...found].toSorted(([, a], [, b]) => a - b)
  return inOrder.map(([number]) => number).slice(0, NUMBERS_MAX)
}
