/** What we say ourselves when the model may not speak: by language, English for the rest. */
const PERSON_WILL_ANSWER: Readonly<Record<string, string>> = {
  ru: 'Спасибо за обращение! Мы передали ваш вопрос специалисту: он ответит вам лично.',
  uk: 'Дякуємо за звернення! Ми передали ваше питання фахівцю: він відповість вам особисто.',
  be: 'Дзякуй за зварот! Мы перадалі ваша пытанне спецыялісту: ён адкажа вам асабіста.',
  kk: 'Хабарласқаныңызға рахмет! Сұрағыңызды маманға бердік: ол сізге өзі жауап береді.',
  en: 'Thank you for your message! We have handed your question to a specialist, who will answer you personally.',
  de: 'Vielen Dank für Ihre Nachricht! Wir haben Ihre Frage an eine Fachkraft weitergegeben, die Ihnen persönlich antwortet.',
  fr: 'Merci pour votre message ! Nous avons transmis votre question à un spécialiste, qui vous répondra personnellement.',
  es: '¡Gracias por su mensaje! Hemos pasado su pregunta a un especialista, que le responderá personalmente.',
}

export function personWillAnswer(language: string): string {
  return PERSON_WILL_ANSWER[primary(language)] ?? (PERSON_WILL_ANSWER['en'] as string)
}

/** The client's language: as declared, else by the letters of the text. */
export function languageOf(text: string, locale: string | undefined): string {
  if (locale !== undefined) return primary(locale)
  const cyrillic = count(text, /\p{Script=Cyrillic}/gu)
  const latin = count(text, /\p{Script=Latin}/gu)
  // No letters at all ("5501?"): the house language.
  if (cyrillic + latin === 0) return 'ru'
  // Product names and order codes are Latin in a Russian text, so a third of Cyrillic letters is enough.
  if (cyrillic * 2 < latin) return 'en'
  if (/[ўЎ]/.test(text)) return 'be'
  if (/[әғқңөұүһӘҒҚҢӨҰҮҺ]/.test(text)) return 'kk'
  return /[їєґЇЄҐ]/.test(text) ? 'uk' : 'ru'
}

/** `ru` of `ru-RU`. */
export function primary(language: string): string {
  return (language.split(/[-_]/)[0] ?? '').toLowerCase()
}

const CYRILLIC_LANGUAGES = new Set(['ru', 'uk', 'be', 'kk', 'bg', 'sr', 'mk', 'ky', 'tg', 'mn', 'tt'])

/** Whether an answer is plainly in other letters than its language's; links and addresses do not count. */
export function isForeignScript(text: string, language: string): boolean {
  const prose = text.replace(/\S*(?::\/\/|@)\S*/g, '')
  const cyrillic = count(prose, /\p{Script=Cyrillic}/gu)
  const latin = count(prose, /\p{Script=Latin}/gu)
  if (cyrillic + latin < 20) return false
  if (CYRILLIC_LANGUAGES.has(primary(language))) return cyrillic < latin / 2
  return ['en', 'de', 'fr', 'es', 'it', 'pl'].includes(primary(language)) && latin < cyrillic / 2
}

function count(text: string, letters: RegExp): number {
  return text.match(letters)?.length ?? 0
}
