import { beside, fit, type Line, panel, rightAligned, type Span, span, type Tone, widthOf, wrap } from './spans.ts'
import type { AnswerView, BillView, Box, BoxState, LogEntry, View, WorkerLine } from './view.ts'
import { WORDS, type Words } from './words.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

const LEAST: Size = { columns: 80, rows: 24 }
const COLUMNS_MAX = 140
const ROWS_MAX = 45
const BOX_ROWS = 4

/** One picture of the demo: as many lines as the size has rows, each exactly as wide. */
export function frameOf(view: View, { columns, rows }: Size): Line[] {
  const words = WORDS[view.language]
  if (columns < LEAST.columns || rows < LEAST.rows) return [fit([span(words.tooSmall, 'warn')], columns)]
  const width = Math.min(columns, COLUMNS_MAX)
  const height = Math.min(rows, ROWS_MAX)
  const bottomRows = height >= 28 ? 7 : 5
  const mainRows = height - 3 - BOX_ROWS - bottomRows
  const billWidth = width >= 96 ? 37 : 32
  const workersWidth = width >= 96 ? 38 : 32
  return [
    header(view, words, width),
    ...beside(
      answerPanel(view, words, { columns: width - billWidth, rows: mainRows }),
      panel({
        title: [span(words.billTitle, 'loud')],
        lines: billLines(view, words, { columns: billWidth - 4, rows: mainRows - 2 }),
        width: billWidth,
        height: mainRows,
      }),
    ),
    ...boxes(view.answer?.boxes ?? [], words, width),
    ...beside(
      panel({
        title: [span(words.workers, 'loud')],
        lines: view.workers.map((worker) => workerLine(worker, words, workersWidth - 4)),
        width: workersWidth,
        height: bottomRows,
      }),
      panel({
        title: [span(words.log, 'loud')],
        lines: view.log.slice(-(bottomRows - 2)).map((entry) => logLine(entry, words)),
        width: width - workersWidth,
        height: bottomRows,
      }),
    ),
    noticeLine(view, words, width),
    footer(view, words, width),
  ]
}

function header({ guard, seed, leaseMs, elapsedMs }: View, words: Words, width: number): Line {
  const isOn = guard === 'on'
  const left: Line = [span(' FOOTHOLD ', 'key'), span(`  ${words.title}`, 'loud')]
  const right: Line = [
    span(isOn ? words.guardOn : words.guardOff, isOn ? 'good' : 'bad'),
    span(`  ${words.seed} ${seed}  ${words.lease(String(leaseMs / 1_000))}  `, 'dim'),
    span(clock(elapsedMs), 'loud'),
    span(' '),
  ]
  const gap = width - widthOf(left) - widthOf(right)
  // Too narrow for both: the facts matter more than the motto.
  return gap > 0
    ? [...left, span(' '.repeat(gap)), ...right]
    : fit([span(' FOOTHOLD ', 'key'), span('  '), ...right], width)
}

function answerPanel({ answer, isStarting, guard }: View, words: Words, { columns, rows }: Size): Line[] {
  const tone: Tone = guard === 'on' ? 'good' : 'bad'
  if (answer === null) {
    const line: Line = [span(isStarting ? words.starting : words.waiting, 'dim')]
    return panel({ title: [], lines: [[], line], width: columns, height: rows, tone })
  }
  const inner = columns - 4
  const title: Line = [span(`${words.answerTo} ${answer.request}`, 'loud')]
  const top: Line[] = [
    fit([span(answer.client, 'info'), span(`: ${answer.question}`, 'info')], inner),
    [writerOf(answer, words)],
    [],
  ]
  const text = largeText(answer, words, { columns: inner, rows: rows - 2 - top.length })
  return panel({ title, lines: [...top, ...text], width: columns, height: rows, tone })
}

function writerOf({ worker, attempt }: AnswerView, words: Words): Span {
  switch (worker.kind) {
    case 'gone':
      return span(words.writerGone, 'bad')
    case 'frozen':
      return span(words.writerFrozen(worker.name), 'warn')
    case 'at_work':
      return span(
        `${worker.name === '' ? '' : `${worker.name} · `}${worker.pid}${attempt > 1 ? ` · ${words.attempt(attempt)}` : ''}`,
        'dim',
      )
  }
}

/** Paragraphs apart, as far as there is room; else close together; at last only the newest lines. */
function largeText({ text, isDelivered, boxes: steps }: AnswerView, words: Words, { columns, rows }: Size): Line[] {
  const isWriting = steps.some(({ name, state }) => name === 'generate' && (state === 'running' || state === 'again'))
  const paragraphs = text.trim().split(/\n+/)
  const lines = paragraphs.flatMap((paragraph, index) => [
    ...(index === 0 ? [] : [[]]),
    ...wrap(paragraph, columns - 6).map((line): Line => [span(`   ${line}`, 'loud')]),
  ])
  if (text !== '' && isWriting) lines[lines.length - 1] = [...(lines.at(-1) ?? []), span(' ▌', 'info')]
  if (isDelivered) lines.push([], [span(`   ✔ ${words.delivered}`, 'good')])
  if (lines.length <= rows) return lines
  return lines.filter((line) => line.length > 0).slice(-rows)
}

function billLines({ bills }: View, words: Words, { columns, rows }: Size): Line[] {
  const cell = 9
  const { bill } = words
  const shown = [
    { title: words.withGuard, tone: 'good' as const, bill: bills.on },
    { title: words.without, tone: 'bad' as const, bill: bills.off },
  ].flatMap(({ bill: one, ...column }) => (one === null ? [] : [{ ...column, bill: one }]))
  const labelWidth = columns - shown.length * cell
  const row = (label: string, show: (one: BillView) => string, tone: (one: BillView) => Tone): Line => [
    ...fit([span(label, label.startsWith(' ') ? 'dim' : 'plain')], labelWidth),
    ...shown.map((column) => rightAligned(show(column.bill), cell, tone(column.bill))),
  ]
  const zero = (value: number): Tone => (value === 0 ? 'good' : 'bad')
  const figure = (): Tone => 'loud'
  const quiet = (): Tone => 'dim'
  const isOver = shown.some((column) => column.bill.isFinal)
  const lines = [
    [...fit([], labelWidth), ...shown.map(({ title, tone }) => rightAligned(title, cell, tone))],
    row(bill.accepted, (one) => grouped(one.accepted), figure),
    row(bill.answered, (one) => grouped(one.answered), figure),
    row(
      isOver ? bill.lost : bill.open,
      (one) => (isOver && !one.isFinal ? '…' : grouped(one.accepted - one.answered)),
      (one) => (one.isFinal ? zero(one.accepted - one.answered) : 'dim'),
    ),
    row(bill.records, (one) => grouped(one.records), figure),
    row(
      bill.doubled,
      (one) => grouped(one.recordsDoubled),
      (one) => zero(one.recordsDoubled),
    ),
    row(bill.replies, (one) => grouped(one.replies), figure),
    row(
      bill.doubled,
      (one) => grouped(one.repliesDoubled),
      (one) => zero(one.repliesDoubled),
    ),
    row(bill.paid, (one) => grouped(one.tokensPaid), figure),
    row(
      bill.wasted,
      (one) => grouped(one.tokensWasted),
      (one) => (one.tokensWasted === 0 ? 'dim' : 'warn'),
    ),
  ]
  // Where there is room: how tasks came through.
  const more = [
    row(bill.handedOver, (one) => grouped(one.handedOver), quiet),
    row(bill.orphaned, (one) => grouped(one.orphaned), quiet),
    row(bill.slowest, (one) => (one.slowestMs === null ? '-' : `${(one.slowestMs / 1_000).toFixed(1)}`), quiet),
  ]
  return lines.length + 1 + more.length <= rows ? [...lines, [], ...more] : lines
}

const BOX_TONES: Readonly<Record<BoxState, Tone>> = {
  waiting: 'dim',
  running: 'info',
  again: 'warn',
  stored: 'good',
  in_memory: 'plain',
  cut_off: 'bad',
  forgotten: 'bad',
}

function boxes(steps: readonly Box[], words: Words, width: number): Line[] {
  if (steps.length === 0) return Array.from({ length: BOX_ROWS }, () => fit([], width))
  const gap = 2
  const boxWidth = Math.floor((width - gap * (steps.length - 1)) / steps.length)
  const columns = steps.flatMap(({ name, state }, index): Line[][] => {
    const tone = BOX_TONES[state]
    const lines: Line[] = [[span(name, tone === 'dim' ? 'dim' : 'loud')], [span(words.steps[state], tone)]]
    const box = panel({ title: [], lines, width: boxWidth, height: BOX_ROWS, tone })
    const arrow = [fit([], gap), [span('─▶', 'dim')], fit([], gap), fit([], gap)]
    return index === 0 ? [box] : [arrow, box]
  })
  return beside(...columns).map((line) => fit(line, width))
}

const WORKER_TONES: Readonly<Record<WorkerLine['state'], Tone>> = {
  starting: 'dim',
  working: 'good',
  draining: 'warn',
  frozen: 'info',
  gone: 'bad',
}

function workerLine({ name, pid, release, state, inHand }: WorkerLine, words: Words, width: number): Line {
  const tone = WORKER_TONES[state]
  const line: Line = [
    span(`${name} `, 'loud'),
    span(`${(pid === 0 ? '' : String(pid)).padEnd(8)}${release.padEnd(4)}`, state === 'gone' ? 'dim' : 'plain'),
    span(words.states[state].padEnd(9), tone),
  ]
  if (inHand === 0) return line
  const said = words.inHand(inHand)
  return [...line, span(widthOf(line) + said.length <= width ? said : `· ${inHand}`, 'dim')]
}

function logLine({ atMs, news }: LogEntry, words: Words): Line {
  return [span(`${clock(atMs)} `, 'dim'), span(words.news(news), newsTone(news))]
}

function newsTone(news: LogEntry['news']): Tone {
  switch (news.kind) {
    case 'killed':
    case 'surprise':
      return 'bad'
    case 'frozen':
    case 'woken':
      return 'info'
    case 'deploying':
    case 'set_aside':
      return 'warn'
    case 'released':
      return news.lost + news.doubled === 0 ? 'good' : 'bad'
    case 'taken_over':
      return 'plain'
    case 'restarted':
    case 'delivered':
      return 'dim'
  }
}

/** What has to be said now; else the report of the last release. */
function noticeLine({ notice, release }: View, words: Words, width: number): Line {
  if (notice !== null) return fit([span(` ${words[notice]}`, 'warn')], width)
  return fit(release === null ? [] : [span(` ${words.news(release)}`, newsTone(release))], width)
}

function footer({ hasKeys, guard }: View, { keys }: Words, width: number): Line {
  if (!hasKeys) return fit([], width)
  const shown: readonly (readonly [string, string])[] = [
    ['k', keys.k],
    ['d', keys.d],
    ['f', keys.f],
    ['g', guard === 'on' ? keys.gOff : keys.gOn],
    ['l', keys.l],
    ['q', keys.q],
  ]
  return fit(
    shown.flatMap(([key, what]) => [span(` ${key} `, 'key'), span(` ${what}  `)]),
    width,
  )
}

function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ' ')
}
