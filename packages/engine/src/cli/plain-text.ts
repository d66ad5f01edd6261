/**
 * Text of tasks comes from mails, models and whoever called: it must not speak to the terminal. What moves the cursor,
 * colours, rings, or turns the direction of writing is shown as an escape.
 */

/** Control characters, line and paragraph separators, marks of direction, halves of surrogate pairs. */
const SPEAKS = /[\p{Cc}\p{Cs}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu

const NAMES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** For one line. */
export function plainLine(text: string): string {
  return text.replace(SPEAKS, (character) => NAMES[character] ?? escapeOf(character))
}

/** For text that is written as it comes: lines and tabs stay. */
export function plainLines(text: string): string {
  return text.replace(SPEAKS, (character) =>
    character === '\n' || character === '\t' ? character : (NAMES[character] ?? escapeOf(character)),
  )
}

/** In JSON the same characters can be spelled so that the document says the same. */
export function plainJson(json: string): string {
  return json.replace(SPEAKS, (character) => (character === '\n' ? character : escapeOf(character)))
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
