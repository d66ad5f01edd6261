import { writeSync } from 'node:fs'
import type { Size } from './frame.ts'
import type { Line, Tone } from './spans.ts'
import { keepTerminal } from './terminal-keeper.ts'

/** The terminal while the demo has it: its own page, keys as they are pressed, and all of it given back at the end. */
export interface Terminal {
  size(): Size
  draw(lines: readonly Line[]): void
  /** Safe to call twice; also called when the process ends in whatever way it can notice. */
  restore(): void
}

export interface TerminalOptions {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream & { readonly fd: number }
  readonly isColoured: boolean
  readonly onKey: (key: string) => void
}

const OPEN = '\u001B[?1049h\u001B[?25l\u001B[2J'
const CLOSE = '\u001B[0m\u001B[?25h\u001B[?1049l'

const CODES: Readonly<Record<Tone, string>> = {
  plain: '',
  loud: '1',
  dim: '2',
  good: '32',
  bad: '1;31',
  warn: '33',
  info: '36',
  key: '7',
}

export function openTerminal({ stdin, stdout, isColoured, onKey }: TerminalOptions): Terminal {
  let shown: readonly string[] = []
  let isOpen = true
  const onData = (data: Buffer): void => {
    for (const key of keysOf(String(data))) onKey(key)
  }
  const onResize = (): void => {
    shown = []
    stdout.write('\u001B[2J')
  }
  const keeper = keepTerminal(CLOSE)
  const restore = (): void => {
    if (!isOpen) return
    isOpen = false
    process.off('exit', restore)
    stdout.off('resize', onResize)
    stdin.off('data', onData)
    if (stdin.isTTY) stdin.setRawMode(false)
    stdin.pause()
    // At once: a process that is ending does not wait for its streams.
    try {
      writeSync(stdout.fd, CLOSE)
    } catch {
      // The terminal is gone, and with it what had to be restored.
    }
    keeper.release()
  }
  process.on('exit', restore)
  stdout.on('resize', onResize)
  if (stdin.isTTY) {
    stdin.setRawMode(true)
    stdin.on('data', onData)
    stdin.resume()
  }
  stdout.write(OPEN)
  return {
    restore,
    size: () => ({ columns: stdout.columns ?? 100, rows: stdout.rows ?? 30 }),
    draw(lines) {
      if (!isOpen) return
      const next = lines.map((line) => toAnsi(line, isColoured))
      const changed = next.flatMap((line, row) => (line === shown[row] ? [] : [`\u001B[${row + 1};1H${line}\u001B[K`]))
      const left = shown.length > next.length ? [`\u001B[${next.length + 1};1H\u001B[J`] : []
      shown = next
      if (changed.length + left.length > 0) stdout.write([...changed, ...left].join(''))
    },
  }
}

export function toAnsi(line: Line, isColoured: boolean): string {
  return line
    .map(({ text, tone }) => {
      if (!isColoured) return tone === 'key' ? text.replace(/^ (.+) $/, '[$1]') : text
      return CODES[tone] === '' || (text.trim() === '' && tone !== 'key')
        ? text
        : `\u001B[${CODES[tone]}m${text}\u001B[0m`
    })
    .join('')
}

/** The same key on a Russian layout is the same key; Ctrl-C is the terminal's way to say q. */
const SAME_KEYS: Readonly<Record<string, string>> = {
  '\u0003': 'q',
  '\u0004': 'q',
  л: 'k',
  в: 'd',
  а: 'f',
  п: 'g',
  д: 'l',
  й: 'q',
}

export function keysOf(data: string): string[] {
  // Escape sequences are keys that have no meaning here.
  if (data.startsWith('\u001B')) return []
  return Array.from(data.toLowerCase()).map((character) => SAME_KEYS[character] ?? character)
}
