export type Colour = 'green' | 'yellow' | 'red' | 'cyan' | 'dim' | 'bold'

const CODES: Readonly<Record<Colour, readonly [number, number]>> = {
  green: [32, 39],
  yellow: [33, 39],
  red: [31, 39],
  cyan: [36, 39],
  dim: [2, 22],
  bold: [1, 22],
}

export type Paint = (colour: Colour, text: string) => string

export function painter(isColourWanted: boolean | null, stream: { readonly isTTY?: boolean | undefined }): Paint {
  if (!(isColourWanted ?? stream.isTTY === true)) return (_colour, text) => text
  return (colour, text) => `\u001B[${CODES[colour][0]}m${text}\u001B[${CODES[colour][1]}m`
}

/** Text from outside must not speak to the terminal: escape sequences can move the cursor, retitle, even type. */
export function harmless(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replace(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '\uFFFD')
}
