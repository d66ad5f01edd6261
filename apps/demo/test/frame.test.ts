import { describe, expect, test } from 'vitest'
import { frameOf } from '../src/screen/frame.ts'
import { type Line, widthOf } from '../src/screen/spans.ts'
import { toAnsi } from '../src/screen/terminal.ts'
import type { BillView, View } from '../src/screen/view.ts'

/** The screen as a plain function from what happened to lines. */

const BILL: BillView = {
  accepted: 26,
  answered: 24,
  records: 25,
  recordsDoubled: 0,
  replies: 24,
  repliesDoubled: 0,
  tokensPaid: 26_764,
  tokensWasted: 920,
  modelCallsRepeated: 3,
  handedOver: 5,
  orphaned: 4,
  slowestMs: 3_120,
  isFinal: false,
}

const VIEW: View = {
  language: 'en',
  guard: 'on',
  seed: 7,
  leaseMs: 3_000,
  elapsedMs: 83_000,
  isStarting: false,
  answer: {
    request: 'R-013',
    client: 'Анна Петрова',
    question: 'Где мой заказ 5501?',
    text: 'Здравствуйте, Анна Петрова!\n\nЗаказ 5501 (Кофемашина «Утро»): статус «Передан в доставку».',
    worker: { kind: 'at_work', name: 'A', pid: 4242 },
    attempt: 2,
    boxes: [
      { name: 'retrieve', state: 'stored' },
      { name: 'plan', state: 'stored' },
      { name: 'tool_call', state: 'cut_off' },
      { name: 'generate', state: 'again' },
      { name: 'verify', state: 'waiting' },
    ],
    isDelivered: false,
  },
  bills: { on: BILL, off: null },
  workers: [
    { name: 'A', pid: 4_242, release: 'v2', state: 'working', inHand: 3 },
    { name: 'B', pid: 4_243, release: 'v1', state: 'frozen', inHand: 12 },
  ],
  log: [{ atMs: 9_000, news: { kind: 'killed', worker: 'B', pid: 4_243, held: 5 } }],
  notice: null,
  release: { kind: 'released', release: 'v2', workers: 2, tookMs: 7_400, handedOver: 5, lost: 0, doubled: 0 },
  hasKeys: true,
}

const text = (lines: readonly Line[]): string => lines.map((line) => toAnsi(line, false)).join('\n')

describe('a frame', () => {
  test.each([
    [80, 24],
    [100, 30],
    [120, 40],
    [133, 43],
  ])('of %i × %i fills its size exactly, in both languages', (columns, rows) => {
    for (const language of ['ru', 'en'] as const) {
      const lines = frameOf({ ...VIEW, language, bills: { on: BILL, off: BILL } }, { columns, rows })

      expect(lines).toHaveLength(rows)
      expect(new Set(lines.map(widthOf))).toEqual(new Set([columns]))
    }
  })

  test('of a window too small says how large it must be, in one line', () => {
    const lines = frameOf(VIEW, { columns: 60, rows: 20 })

    expect(text(lines).trimEnd()).toBe('make the window at least 80 × 24')
  })

  test('shows the answer, the steps as they stand, the bill, the workers with pids, the last release and the keys', () => {
    const shown = text(frameOf(VIEW, { columns: 100, rows: 30 }))

    for (const part of [
      'answer to R-013',
      'A · 4242 · attempt 2',
      'Кофемашина «Утро»',
      '✔ stored',
      '✖ cut off',
      '↻ runs again',
      '○ waiting',
      'lease 3 s (default 20 s)',
      '01:23',
      'FROZEN   12 in hand',
      'kill -9 4243 (worker B), 5 in hand',
      'release v2: 7.4 s, 5 handed over, 0 lost, 0 doubled',
      '[k] kill -9',
    ]) {
      expect(shown).toContain(part)
    }
    expect(shown).toMatch(/tokens paid +26 764/)
    expect(shown).toMatch(/wasted +920/)
    expect(shown).not.toContain('without')
  })

  test('sets the figures of both rounds side by side, what was doubled or lost in red', () => {
    const off = { ...BILL, recordsDoubled: 7, isFinal: true }
    const lines = frameOf(
      { ...VIEW, guard: 'off', bills: { on: { ...BILL, answered: 26, isFinal: true }, off } },
      { columns: 100, rows: 30 },
    )

    expect(text(lines)).toMatch(/lost +0 +2 │/)
    expect(text(lines)).toMatch(/doubled +0 +7 │/)
    const doubled = lines.flat().filter(({ tone, text: piece }) => tone === 'bad' && /^ +[27]$/.test(piece))
    expect(doubled).toHaveLength(2)
  })

  test('keeps the newest words of an answer that is too long for it', () => {
    const long = Array.from({ length: 200 }, (_, index) => `слово${index}`).join(' ')
    const answer = { ...(VIEW.answer as NonNullable<View['answer']>), text: long }

    expect(text(frameOf({ ...VIEW, answer }, { columns: 80, rows: 24 }))).toContain('слово199')
  })

  test('lets no text of a client or a model speak to the terminal', () => {
    const answer = {
      ...(VIEW.answer as NonNullable<View['answer']>),
      question: '\u001B[2J\u0007\u202Ewho?',
      text: '\u001B]0;x\u0007',
    }
    const lines = frameOf({ ...VIEW, answer }, { columns: 100, rows: 30 })

    expect(
      lines
        .flat()
        .map((piece) => piece.text)
        .join(''),
    ).not.toMatch(/[\p{Cc}\u202E]/u)
  })
})

test('without colour a line is plain text; with it every colour is closed again', () => {
  const [first = []] = frameOf(VIEW, { columns: 100, rows: 30 })

  expect(toAnsi(first, false)).not.toContain('\u001B')
  const coloured = toAnsi(first, true)
  const closed = coloured.split('\u001B[0m').length - 1
  expect(closed).toBeGreaterThan(2)
  expect(coloured.split('\u001B[').length - 1).toBe(2 * closed)
})
