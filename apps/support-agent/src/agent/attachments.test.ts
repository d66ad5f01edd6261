import fc from 'fast-check'
import iconv from 'iconv-lite'
import { describe, expect, test } from 'vitest'
import { ATTACHMENT_CHARACTERS_MAX, readAttachments } from './attachments.ts'

const RUSSIAN = 'Здравствуйте! Посылка по заказу 5501 пришла разбитой, прошу вернуть деньги. Анна Петрова, г. Ёлкино.'

function read(bytes: Buffer, contentType?: string, name = 'письмо.txt') {
  const [file] = readAttachments([
    { name, base64: bytes.toString('base64'), ...(contentType === undefined ? {} : { contentType }) },
  ])
  return file as NonNullable<typeof file>
}

describe('Cyrillic text is read in whatever charset it comes', () => {
  test.each(['utf-8', 'windows-1251', 'koi8-r', 'cp866'])('%s without a word about it', (charset) => {
    expect(read(iconv.encode(RUSSIAN, charset)).text).toBe(RUSSIAN)
  })

  test.each(['windows-1251', 'koi8-r', 'iso-8859-5'])('%s as declared', (charset) => {
    expect(read(iconv.encode(RUSSIAN, charset), `text/plain; charset="${charset}"`).text).toBe(RUSSIAN)
  })

  test.each(['utf-8', 'utf-16le', 'utf-16be'])('%s by its byte order mark', (charset) => {
    expect(read(iconv.encode(RUSSIAN, charset, { addBOM: true })).text).toBe(RUSSIAN)
  })

  test('windows-1251 that is labelled utf-8', () => {
    expect(read(iconv.encode(RUSSIAN, 'windows-1251'), 'text/plain; charset=utf-8').text).toBe(RUSSIAN)
  })

  test('utf-8 that is labelled windows-1251', () => {
    expect(read(Buffer.from(RUSSIAN), 'text/plain; charset=windows-1251').text).toBe(RUSSIAN)
  })

  test('capitals alone', () => {
    expect(read(iconv.encode('СРОЧНО ВЕРНИТЕ ДЕНЬГИ ЗА ЗАКАЗ', 'windows-1251')).text).toBe(
      'СРОЧНО ВЕРНИТЕ ДЕНЬГИ ЗА ЗАКАЗ',
    )
  })

  test('an HTML page in koi8-r that declares it itself', () => {
    const html = `<html><head><meta charset="koi8-r"><title>x</title></head><body><p>${RUSSIAN}</p></body></html>`

    expect(read(iconv.encode(html, 'koi8-r'), undefined, 'page').text).toContain(RUSSIAN)
  })
})

test('HTML becomes text, without scripts, and a table keeps its rows', () => {
  const html = `<!doctype html><html><body><script>alert(1)</script><style>p{}</style>
    <p>Заказ&nbsp;5501 &amp; чек</p><table><tr><td>Сумма</td><td>12 900</td></tr></table></body></html>`

  const { text } = read(Buffer.from(html), 'text/plain', 'price.csv')

  expect(text).toContain('Заказ\u00A05501 & чек')
  expect(text).toMatch(/Сумма\s+12 900/)
  expect(text).not.toContain('alert')
})

test('CSV stays as it is, also where a cell has an angle bracket', () => {
  const csv = 'номер;сумма\n5501;12900\n5502;<5000'

  expect(read(Buffer.from(csv), 'text/csv', 'a.csv').text).toBe(csv)
})

describe('what is no text is not read, and the note says what it is, whatever its name', () => {
  test.each([
    ['25504446', 'a PDF'],
    ['504b0304', 'a ZIP archive or an Office document'],
    ['89504e470d0a1a0a', 'a PNG image'],
    ['0001020300040500', 'a binary file'],
  ])('%s', (hex, what) => {
    const file = read(Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(50)]), 'text/plain', 'обычный.txt')

    expect(file).toMatchObject({ text: '', note: expect.stringContaining(`not read: ${what}`) })
  })
})

test('the limit holds over all files together and says what was cut', () => {
  const files = readAttachments([
    { name: 'a', text: 'а'.repeat(150_000) },
    { name: 'b', text: 'б'.repeat(150_000) },
    { name: 'c', text: 'в' },
  ])

  expect(files.map((file) => file.text.length)).toEqual([150_000, 50_000, 0])
  expect(files[1]?.note).toBe('cut: only the beginning is kept')
  expect(files.reduce((sum, file) => sum + file.text.length, 0)).toBe(ATTACHMENT_CHARACTERS_MAX)
})

test('U+0000 and half a surrogate pair become signs that can be stored', () => {
  const [file] = readAttachments([{ name: 'a\0', text: 'x\0y\uD83Dz' }])

  expect(file).toEqual({ name: 'a\u2400', text: 'x\u2400y\uFFFDz', note: null })
})

test('HTML nested 50,000 deep and 20,000 links are read in bounded time', () => {
  const deep = Buffer.from(`<html><body>${'<div>'.repeat(50_000)}дно${'</div>'.repeat(50_000)}</body></html>`)
  const links = Buffer.from(`<html><body>Ссылки ${'<a href="https://a.example">тут</a> '.repeat(20_000)}</body></html>`)
  const startedMs = performance.now()

  read(deep)
  expect(read(links).text).toContain('Ссылки тут')

  expect(performance.now() - startedMs).toBeLessThan(10_000)
})

test('any bytes under any name and label are read without a failure', () => {
  const anything = fc.record({
    bytes: fc.uint8Array({ maxLength: 400 }),
    contentType: fc.option(fc.string(), { nil: undefined }),
  })
  fc.assert(
    fc.property(anything, ({ bytes, contentType }) => {
      const { text } = read(Buffer.from(bytes), contentType)
      expect(text).not.toContain('\0')
    }),
    { verbose: true },
  )
})
