// Amounts and dates as people write them in either language. What cannot be read is left as it came.

export function amountText(amount: string, currency: string | null, language: 'ru' | 'en'): string {
  const [, sign = '', whole, fraction = ''] = /^(-?)(\d+)(?:[.,](\d+))?$/.exec(amount) ?? []
  if (whole === undefined) return currency === null ? amount : `${amount} ${currency}`
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, language === 'ru' ? ' ' : ',')
  const rest = /^0*$/.test(fraction) ? '' : `${language === 'ru' ? ',' : '.'}${fraction.padEnd(2, '0')}`
  return `${sign}${grouped}${rest}${currencyText(currency, language)}`
}

const SIGNS: Readonly<Record<string, string>> = { RUB: '₽', RUR: '₽', USD: '$', EUR: '€', KZT: '₸', BYN: 'BYN' }

function currencyText(currency: string | null, language: 'ru' | 'en'): string {
  if (currency === null) return ''
  return ` ${language === 'ru' ? (SIGNS[currency] ?? currency) : currency}`
}

const MONTHS = {
  ru: 'января февраля марта апреля мая июня июля августа сентября октября ноября декабря'.split(' '),
  en: 'January February March April May June July August September October November December'.split(' '),
}

export function dateText(date: string, language: 'ru' | 'en'): string {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})(?:[T ].*)?$/.exec(date) ?? []
  const name = MONTHS[language][Number(month) - 1]
  return name === undefined ? date : `${Number(day)} ${name} ${year}`
}
