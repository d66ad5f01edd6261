const CYRILLIC_LANGUAGES = new Set(['ru', 'uk', 'be', 'kk', 'bg', 'sr', 'mk', 'ky', 'tg', 'mn', 'tt'])

/** The tag of the language that a text is in, as far as letters and the commonest words tell. */
export function languageOf(text: string): string {
  const asked = askedLanguage(text)
  if (asked !== null) return asked
  const cyrillic = text.match(/\p{Script=Cyrillic}/gu)?.length ?? 0
  const latin = text.match(/\p{Script=Latin}/gu)?.length ?? 0
  // No letters at all: a Russian shop's customers.
  if (cyrillic + latin === 0) return 'ru'
  // Names of goods are Latin in a Russian text.
  if (cyrillic * 2 < latin) return latinLanguage(text)
  if (/[ўЎ]/.test(text)) return 'be'
  if (/[әғқңөұүһ]/i.test(text)) return 'kk'
  return /[їєґ]/i.test(text) ? 'uk' : 'ru'
}

/** The two languages that the model speaks; others get the one of the same letters. */
export function spokenLanguage(language: string): 'ru' | 'en' {
  return CYRILLIC_LANGUAGES.has(language) ? 'ru' : 'en'
}

function askedLanguage(text: string): string | null {
  if (
    /(?:reply|answer|respond)\s+(?:to me\s+)?in\s+russian|(?:ответь|отвечай)\p{L}*\s+(?:мне\s+)?(?:по-русски|на русском)/iu.test(
      text,
    )
  ) {
    return 'ru'
  }
  if (
    /(?:reply|answer|respond)\s+(?:to me\s+)?in\s+english|(?:ответь|отвечай)\p{L}*\s+(?:мне\s+)?(?:по-английски|на английском)/iu.test(
      text,
    )
  ) {
    return 'en'
  }
  return null
}

const LATIN_LANGUAGES: readonly { readonly tag: string; readonly words: RegExp }[] = [
  { tag: 'de', words: /\b(?:ich|und|nicht|meine?|bestellung|wo|bitte|ist|wann|danke)\b/gi },
  { tag: 'fr', words: /\b(?:je|est|ma|mon|commande|où|bonjour|merci|pas|quand|vous)\b/gi },
  { tag: 'es', words: /\b(?:mi|pedido|está|dónde|hola|gracias|por|cuándo|no|usted)\b/gi },
]

function latinLanguage(text: string): string {
  const found = LATIN_LANGUAGES.map(({ tag, words }) => ({ tag, count: text.match(words)?.length ?? 0 }))
  const best = found.toSorted((a, b) => b.count - a.count)[0]
  return best !== undefined && best.count >= 2 ? best.tag : 'en'
}
