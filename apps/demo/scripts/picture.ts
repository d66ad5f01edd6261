import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { frameToSvg } from './frame-to-svg.ts'

/**
 * Makes the pictures of the documents from a real session: tmux holds the terminal, this script presses the keys and
 * waits for what the screen then shows. After `npm run build`:
 *
 *     node --import tsx apps/demo/scripts/picture.ts
 */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const COLUMNS = 100
const ROWS = 30
const LOOK_MS = 60
const PATIENCE_MS = 180_000

// A server of its own: nobody else's sessions are touched.
const tmux = (...words: readonly string[]): string =>
  execFileSync('tmux', ['-L', `foothold-picture-${process.pid}`, ...words], { encoding: 'utf8' })
const screen = (): string => tmux('capture-pane', '-p', '-t', 'demo')
const press = (key: string): string => tmux('send-keys', '-t', 'demo', key)

async function until(what: string, isSo: (screen: string) => boolean): Promise<void> {
  const endsAtMs = Date.now() + PATIENCE_MS
  while (!isSo(screen())) {
    if (Date.now() > endsAtMs) throw new Error(`waited in vain for ${what}:\n${screen()}`)
    await pause(LOOK_MS)
  }
}

function keep(name: string, title: string): void {
  const captured = tmux('capture-pane', '-e', '-p', '-t', 'demo')
  writeFileSync(`${ROOT}docs/${name}.svg`, frameToSvg(captured, { columns: COLUMNS, title }))
  console.log(`docs/${name}.svg\n${screen()}`)
}

/** How many lines of the answer stand there. */
const written = (page: string): number =>
  page
    .split('\n')
    .slice(4, 15)
    .filter((line) => /^│ {4}\S/.test(line)).length
const figure = (page: string, label: string): number => Number(new RegExp(`${label} +(\\d+)`).exec(page)?.[1] ?? '0')

try {
  const command = `cd '${ROOT}' && exec node apps/demo/dist/main.js --lang en --seed 3`
  tmux('new-session', '-d', '-s', 'demo', '-x', String(COLUMNS), '-y', String(ROWS), command)
  await until('some answers, and one being written', (page) => {
    return figure(page, 'answered') >= 8 && page.includes('▶ running      │  │ ○ waiting') && written(page) >= 3
  })
  press('k')
  await until('the cut', (page) => page.includes('✖ cut off'))
  await until('the answer written again', (page) => page.includes('↻ runs again') && written(page) >= 5)
  keep(
    'demo',
    'Foothold’s demo: a worker was killed in the middle of an answer, and its neighbour goes on from the last stored step',
  )

  press('d')
  await until('the release report', (page) => page.includes('lost, 0 doubled'))
  press('f')
  await until('the freeze', (page) => page.includes('wakes and thinks'))
  press('g')
  await until('the comparison', (page) => page.includes('same seed, same blows'))
  keep('demo-compared', 'Foothold’s demo: the bill of the same seed and the same blows, with the guard and without')
  press('q')
} finally {
  tmux('kill-server')
}
