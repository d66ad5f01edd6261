import { expect, test } from 'vitest'
import { duration, fromNow } from '../protocol/explain/durations.ts'
import { shellWord } from '../protocol/explain/shell-word.ts'
import { createOutput } from './output.ts'
import { tableLines } from './table.ts'

function painted(isTTY: boolean, env: NodeJS.ProcessEnv): string {
  const stream = { write: () => true, isTTY }
  return createOutput({ stdout: stream, stderr: stream }, env).paint('red', 'беда')
}

test('colours come at a terminal only, and NO_COLOR and FORCE_COLOR decide before that', () => {
  const red = '\u001B[31mбеда\u001B[39m'

  expect(painted(true, {})).toBe(red)
  expect(painted(false, {})).toBe('беда')
  expect(painted(true, { NO_COLOR: '1' })).toBe('беда')
  expect(painted(true, { NO_COLOR: '' })).toBe(red)
  expect(painted(true, { TERM: 'dumb' })).toBe('беда')
  expect(painted(false, { FORCE_COLOR: '1' })).toBe(red)
  expect(painted(true, { FORCE_COLOR: '0' })).toBe('беда')
})

test('data and notes go to streams of their own', () => {
  const [data, notes]: [string[], string[]] = [[], []]
  const out = createOutput(
    { stdout: { write: (text) => data.push(text) }, stderr: { write: (text) => notes.push(text) } },
    {},
  )

  out.line('строка')
  out.record({ a: '\u009B' })
  out.note('заметка')

  expect(data).toEqual(['строка\n', '{"a":"\\u009b"}\n'])
  expect(notes).toEqual(['заметка\n'])
})

test('columns stand under each other, whatever the script', () => {
  expect(
    tableLines(
      ['A', 'B'],
      [
        ['счёт', '1'],
        ['日本', '2'],
        ['e\u0301', '3'],
      ],
    ),
  ).toEqual(['A     B', 'счёт  1', '日本  2', 'e\u0301     3'])
})

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [59_999, '59 s'],
  [3_599_999, '59 min'],
  [3_600_000, '1 h'],
  [12_000_000, '3 h 20 min'],
  [187_200_000, '2 d 4 h'],
])('%d ms are said as %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test('a time is said from now, either way', () => {
  const now = new Date(100_000)

  expect(fromNow(new Date(40_000), now)).toBe('1 min ago')
  expect(fromNow(new Date(112_500), now)).toBe('in 12 s')
})

test.each([
  ['tool_call:1', 'tool_call:1'],
  ['ответ', 'ответ'],
  ['второй шаг', `'второй шаг'`],
  [`it's; rm -rf /`, `'it'\\''s; rm -rf /'`],
  ['--done', `'--done'`],
  ['$(id)', `'$(id)'`],
])('%s is pasted into a shell as %s', (word, text) => {
  expect(shellWord(word)).toBe(text)
})
