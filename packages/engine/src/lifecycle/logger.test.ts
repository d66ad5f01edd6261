import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { FootholdError } from '../protocol/errors.ts'
import { type JsonLoggerOptions, jsonLogger, silentLogger } from './logger.ts'

function setup(options: JsonLoggerOptions = {}) {
  const lines: string[] = []
  const log = jsonLogger({ stream: { write: (text) => lines.push(text) }, ...options })
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? 'null') as Record<string, unknown> }
}

test('a line is one JSON object: time, level, message, then the fields', () => {
  const { log, lines, last } = setup()

  log.info({ taskId: '0190', attempt: 2, reason: 'orphaned' }, 'задача\nвозвращена')

  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/^[^\n]+\n$/)
  expect(Object.keys(last())).toEqual(['time', 'level', 'message', 'taskId', 'attempt', 'reason'])
  expect(last()).toMatchObject({ level: 'info', message: 'задача\nвозвращена', taskId: '0190', attempt: 2 })
  expect(Date.parse(last()['time'] as string)).toBeGreaterThan(0)
})

test('levels below the chosen one are not written', () => {
  const { log, lines } = setup({ level: 'warn' })

  log.debug({}, 'd')
  log.info({}, 'i')
  log.warn({}, 'w')
  log.error({}, 'e')

  expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(['warn', 'error'])
})

test('errors are written with name, code, message, stack, causes and the errors of an aggregate', () => {
  const { log, last } = setup()
  const refused = Object.assign(new AggregateError([new Error('ECONNREFUSED 127.0.0.1')], ''), { code: 'ECONNREFUSED' })

  log.error({ error: new FootholdError('CLOSED', {}, { cause: refused }) }, 'нет базы')
  expect(last()['error']).toMatchObject({
    name: 'FootholdError',
    code: 'CLOSED',
    message: 'This Foothold connection was closed.',
    stack: expect.stringContaining('logger.test.ts') as unknown,
    cause: { code: 'ECONNREFUSED', errors: [{ message: 'ECONNREFUSED 127.0.0.1' }] },
  })

  log.error(new Error('сама ошибка'), 'an error as the fields')
  expect(last()['error']).toMatchObject({ message: 'сама ошибка' })
})

test('whatever the fields are, a line is written and nothing is thrown', () => {
  const { log, lines, last } = setup()
  const cycle: { self?: unknown } = {}
  cycle.self = { cycle }
  const error = new Error('x')
  error.cause = error

  log.info({ n: 9007199254740993n, cycle, error, at: new Date(NaN), f: NaN, s: Symbol('я'), go: () => 1 }, 'odd')
  expect(last()).toMatchObject({
    n: '9007199254740993',
    cycle: { self: { cycle: '[cycle]' } },
    error: { cause: '[cycle]' },
    at: 'Invalid Date',
    f: 'NaN',
    s: 'Symbol(я)',
  })

  const hostile = {
    get secret() {
      throw new Error('no')
    },
  }
  log.info(hostile, 'an accessor throws')
  log.info({ inner: { toJSON: () => Promise.reject.call(null) } }, 'a toJSON throws')
  log.info(undefined as never, undefined as never)
  log.info('text' as never, Symbol('m') as never)
  expect(lines).toHaveLength(5)
  expect(lines[1]).toContain('an accessor throws')
  expect(lines[2]).toContain('a toJSON throws')
})

test('a field cannot pass for the time, the level or the message', () => {
  const { log, last } = setup()

  log.info({ message: 'подделка', level: 'error', time: 0 }, 'настоящее')

  expect(last()).toMatchObject({ message: 'настоящее', level: 'info', message_: 'подделка', level_: 'error', time_: 0 })
})

test('long, wide and deep values are cut', () => {
  const { log, lines } = setup()
  let deep: unknown = 1
  for (let level = 0; level < 10_000; level++) deep = { deep }

  log.info({ long: 'я'.repeat(1e6), wide: Array.from({ length: 1e5 }, () => 'x'.repeat(50)), deep }, 'big')

  expect(lines[0]?.length).toBeLessThan(20_000)
  expect(lines[0]).toContain('[99900 more]')
})

test('the password in a connection URL is never written', () => {
  const { log, lines } = setup()

  log.error({ error: new Error('postgres://foothold:Секрет%40@db:5432/app refused') }, 'postgres://u:s3cret@db/app')

  expect(lines[0]).not.toMatch(/Секрет|s3cret/)
  expect(lines[0]).toContain('postgres://u:***@db/app')
})

test('on a terminal a line is one readable line, and text from outside cannot speak to the terminal', () => {
  const { log, lines } = setup({ stream: { write: (text) => lines.push(text), isTTY: true } })
  log.warn(
    { task: '0190', text: 'а б', error: new FootholdError('CLOSED', {}), n: { a: 1 } },
    'строка\nдве\u001b[2J\u009b2J',
  )

  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} WARN {2}строка.* task=0190 text="а б" error="FootholdError CLOSED This.*" n=\{"a":1\}\n$/,
  )
  expect(lines[0]?.slice(0, -1)).not.toMatch(/\p{Cc}/u)
})

test('when the reader is slow, lines past the bound are dropped and counted in the next one written', () => {
  const lines: string[] = []
  const stream = { writableLength: 0, write: (text: string) => lines.push(text) }
  const log = jsonLogger({ stream })

  stream.writableLength = 1e9
  log.info({}, 'lost')
  log.info({}, 'lost')
  stream.writableLength = 0
  log.info({}, 'written')
  log.info({}, 'and again')

  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ droppedLines: 2 }, { message: 'and again' }])
  expect(lines[1]).not.toContain('droppedLines')
})

test('a process whose log reader went away goes on', async () => {
  const source = new URL('./logger.ts', import.meta.url).href
  const child = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      '--input-type=module',
      '-e',
      `import { jsonLogger } from ${JSON.stringify(source)}
       const log = jsonLogger()
       log.info({}, 'first')
       process.stdin.once('data', () => {
         for (let line = 0; line < 50; line++) log.info({ line }, 'into a closed pipe')
         setImmediate(() => setImmediate(() => { console.log('alive'); process.exit(0) }))
       })`,
    ],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  )
  const [first] = (await once(child.stderr, 'data')) as [Buffer]
  expect(JSON.parse(first.toString())).toMatchObject({ message: 'first' })

  child.stderr.destroy()
  await once(child.stderr, 'close')
  const output = once(child.stdout, 'data')
  child.stdin.write('go\n')

  expect(String(((await output) as [Buffer])[0])).toBe('alive\n')
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('the silent logger says nothing', () => {
  silentLogger.error({ a: 1 }, 'x')

  expect(Object.keys(silentLogger)).toEqual(['debug', 'info', 'warn', 'error'])
})
