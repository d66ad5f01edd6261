/** A terminal's page as `tmux capture-pane -e` prints it, drawn cell by cell: the same picture with whatever font. */
export function frameToSvg(
  captured: string,
  { columns, title }: { readonly columns: number; readonly title: string },
): string {
  const lines = captured.replace(/\n+$/, '').split('\n')
  const width = columns * CELL.width + 2 * MARGIN
  const height = lines.length * CELL.height + 2 * MARGIN
  const drawn = lines.flatMap((line, row) => runsOf(line).flatMap((run) => drawRun(run, row)))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${PAPER}"/>`,
    `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" xml:space="preserve">`,
    ...drawn,
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

const CELL = { width: 8.4, height: 18, baseline: 13.5 } as const
const MARGIN = 12
const PAPER = '#10151c'
const INK = '#c8d1dc'
const COLOURS: Readonly<Record<string, string>> = {
  '31': '#ff6b6b',
  '32': '#5fd38d',
  '33': '#e5c07b',
  '36': '#56c8d8',
}

interface Look {
  readonly colour: string
  readonly isBold: boolean
  readonly isDim: boolean
  readonly isInverse: boolean
}

interface Run extends Look {
  readonly column: number
  readonly text: string
}

const PLAIN: Look = { colour: INK, isBold: false, isDim: false, isInverse: false }
const ESCAPE = '\u001B['

function runsOf(line: string): Run[] {
  const [first = '', ...rest] = line.split(ESCAPE)
  let look = PLAIN
  let column = 0
  const run = (text: string): Run[] => {
    const at = column
    column += Array.from(text).length
    return text === '' ? [] : [{ ...look, column: at, text }]
  }
  return [
    ...run(first),
    ...rest.flatMap((part) => {
      const end = part.indexOf('m')
      look = part.slice(0, end).split(';').reduce(changed, look)
      return run(part.slice(end + 1))
    }),
  ]
}

function changed(look: Look, code: string): Look {
  switch (code) {
    case '':
    case '0':
      return PLAIN
    case '1':
      return { ...look, isBold: true }
    case '2':
      return { ...look, isDim: true }
    case '7':
      return { ...look, isInverse: true }
    case '39':
      return { ...look, colour: INK }
    default:
      return { ...look, colour: COLOURS[code] ?? look.colour }
  }
}

function drawRun(run: Run, row: number): string[] {
  const { text, column, isInverse, colour, isDim } = run
  const x = MARGIN + column * CELL.width
  const y = MARGIN + row * CELL.height
  const length = Array.from(text).length * CELL.width
  const back = isInverse
    ? [`<rect x="${figure(x)}" y="${y}" width="${figure(length)}" height="${CELL.height}" fill="${colour}"/>`]
    : []
  const strokes = Array.from(text).flatMap((character, index) => strokeOf(character, x + index * CELL.width, y))
  const lines =
    strokes.length === 0
      ? []
      : [
          `<path d="${strokes.join('')}" stroke="${colour}"${isDim ? ' opacity="0.45"' : ''} fill="none" stroke-width="1.2"/>`,
        ]
  return [...back, ...lines, ...wordsOf(run, y)]
}

/** Frames are drawn as lines, so that they meet; a font's own leave gaps between the rows. */
function strokeOf(character: string, x: number, y: number): string[] {
  const [middleX, middleY] = [figure(x + CELL.width / 2), y + CELL.height / 2]
  const [left, right, top, bottom] = [figure(x), figure(x + CELL.width), y, y + CELL.height]
  switch (character) {
    case '─':
      return [`M${left} ${middleY}H${right}`]
    case '│':
      return [`M${middleX} ${top}V${bottom}`]
    case '╭':
      return [`M${middleX} ${bottom}Q${middleX} ${middleY} ${right} ${middleY}`]
    case '╮':
      return [`M${left} ${middleY}Q${middleX} ${middleY} ${middleX} ${bottom}`]
    case '╰':
      return [`M${middleX} ${top}Q${middleX} ${middleY} ${right} ${middleY}`]
    case '╯':
      return [`M${left} ${middleY}Q${middleX} ${middleY} ${middleX} ${top}`]
    default:
      return []
  }
}

/** Each word at its own column and stretched to its cells: no font can push the rest of the line aside. */
function wordsOf({ text, column, colour, isBold, isDim, isInverse }: Run, y: number): string[] {
  const fill = isInverse ? PAPER : colour
  const style = `${isBold ? ' font-weight="bold"' : ''}${isDim ? ' opacity="0.6"' : ''}`
  const characters = Array.from(text)
  const words: string[] = []
  for (let at = 0; at < characters.length; ) {
    let end = at
    while (end < characters.length && !/[\s─│╭╮╰╯]/.test(characters[end] ?? '')) end += 1
    if (end > at) {
      const word = characters.slice(at, end).join('')
      const x = figure(MARGIN + (column + at) * CELL.width)
      const length = figure((end - at) * CELL.width)
      words.push(
        `<text x="${x}" y="${y + CELL.baseline}" textLength="${length}" lengthAdjust="spacingAndGlyphs" fill="${fill}"${style}>${escaped(word)}</text>`,
      )
    }
    at = Math.max(end, at) + 1
  }
  return words
}

function figure(value: number): number {
  return Number(value.toFixed(2))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
