import { describe, expect, test } from 'vitest'
import { ATTACHMENT_BYTES_MAX, SupportRequest } from './request.ts'

const client = { id: '101' }

function problemsOf(input: unknown): string {
  const parsed = SupportRequest.safeParse(input)
  return parsed.success ? '' : parsed.error.issues.map((i) => `${i.path.join('.')}: ${i.message}`).join('\n')
}

test('the smallest request is a client and a text', () => {
  expect(SupportRequest.parse({ client, text: 'Где заказ?' })).toEqual({ client, text: 'Где заказ?', attachments: [] })
})

describe('a request that asks nothing is refused at the door', () => {
  test.each(['', '   ', '\n\t', '\u200B\u00A0', '\0', '\uD800'])('%j', (text) => {
    expect(problemsOf({ client, text })).toContain('text: is empty')
  })

  test('unless a file says it', () => {
    expect(problemsOf({ client, text: '', attachments: [{ name: 'a.txt', text: 'Где заказ 5501?' }] })).toBe('')
  })
})

test('client ids keep every digit, and a number that has lost some is refused', () => {
  expect(SupportRequest.parse({ client: { id: 101 }, text: 'a' }).client.id).toBe('101')
  expect(SupportRequest.parse({ client: { id: 9007199254740993n }, text: 'a' }).client.id).toBe('9007199254740993')
  expect(problemsOf({ client: { id: 2 ** 53 }, text: 'a' })).toContain('send it as a string of digits')
})

test('what was parsed once parses to itself: the worker checks again what the door has checked', () => {
  const once = SupportRequest.parse({ client: { id: ' 7 ' }, text: 'a', attachments: [{ name: 'a', base64: 'YQ==' }] })

  expect(SupportRequest.parse(once)).toEqual(once)
})

describe('a refusal names the field, the limit and the cure', () => {
  test.each([
    [{ client: { id: ' ' }, text: 'a' }, 'client.id: is empty'],
    [{ client, text: 'a'.repeat(100_001) }, 'text: takes over 100000 characters: send the rest as an attachment'],
    [{ client, text: 'a', attachments: Array(6).fill({ name: 'a', text: 'b' }) }, 'attachments: more than 5 files'],
    [{ client, text: 'a', attachments: [{ name: 'a' }] }, 'attachments.0: needs either `text` or `base64`'],
    [{ client, text: 'a', attachments: [{ name: 'a', base64: 'не base64' }] }, 'attachments.0.base64: is not base64'],
    [{ client, text: 'a', attachments: [{ name: 'a', base64: 'data:text/plain;base64,YQ==' }] }, 'is a data: URL'],
    [{ client, text: 'a', replyTo: 'ftp://x' }, 'replyTo: is not an http(s) address'],
    [{ client, text: 'a', locale: 'по-русски' }, 'locale: is not a language tag'],
  ])('%#', (input, said) => {
    expect(problemsOf(input)).toContain(said)
  })

  test('a file of exactly 5 MB passes, as text and as base64 with padding and line breaks; one byte more does not', () => {
    const base64 = (bytes: number): string => Buffer.alloc(bytes, 0xff).toString('base64').replace(/.{76}/g, '$&\r\n')
    const attached = (attachment: object): unknown => ({
      client,
      text: 'a',
      attachments: [{ name: 'a', ...attachment }],
    })

    expect(problemsOf(attached({ text: 'a'.repeat(ATTACHMENT_BYTES_MAX) }))).toBe('')
    expect(problemsOf(attached({ base64: base64(ATTACHMENT_BYTES_MAX) }))).toBe('')
    expect(problemsOf(attached({ base64: base64(ATTACHMENT_BYTES_MAX + 1) }))).toContain(
      `takes ${ATTACHMENT_BYTES_MAX + 1} bytes`,
    )
  })

  test('a file over 5 MB', () => {
    const text = 'a'.repeat(ATTACHMENT_BYTES_MAX + 1)

    expect(problemsOf({ client, text: 'a', attachments: [{ name: 'a', text }] })).toContain('the limit is 5242880')
  })
})
