import { styleText } from 'node:util'
import { plainJson } from './plain-text.ts'

/** Where a command writes: data on one stream, everything else on the other. */
export interface TextStream {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
}

/** Else Node would ask its own stdout and environment once more; versions that do not ask ignore it. */
const DECIDED = { validateStream: false }

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow'

export interface Output {
  /** Data. */
  line(text: string): void
  /** Data without an end of line: text as it is being written. */
  piece(text: string): void
  /** One document. */
  document(value: unknown): void
  /** One document a line. */
  record(value: unknown): void
  /** Progress, hints and warnings. */
  note(text: string): void
  /** For what goes to `line`; plain text where there is no terminal or no colour is wanted. */
  paint(style: Style, text: string): string
}

export function createOutput(
  { stdout, stderr }: { readonly stdout: TextStream; readonly stderr: TextStream },
  env: NodeJS.ProcessEnv,
): Output {
  const isColoured = wantsColour(stdout, env)
  return {
    line: (text) => void stdout.write(`${text}\n`),
    piece: (text) => void stdout.write(text),
    document: (value) => void stdout.write(`${plainJson(JSON.stringify(value, null, 2))}\n`),
    record: (value) => void stdout.write(`${plainJson(JSON.stringify(value))}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    paint: (style, text) => (isColoured ? styleText(style, text, DECIDED) : text),
  }
}

/** https://no-color.org: set and not empty. FORCE_COLOR is Node's own. */
function wantsColour(stream: TextStream, env: NodeJS.ProcessEnv): boolean {
  if (isSet(env['NO_COLOR']) || env['TERM'] === 'dumb') return false
  if (isSet(env['FORCE_COLOR'])) return env['FORCE_COLOR'] !== '0'
  return stream.isTTY === true
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}
