import fc from 'fast-check'
import { expect, test } from 'vitest'
import { eventData } from './event-stream.ts'

async function read(bytes: Uint8Array, cuts: readonly number[] = []): Promise<string[]> {
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let edge = 1; edge < edges.length; edge++) yield bytes.subarray(edges[edge - 1], edges[edge])
  }
  const data: string[] = []
  for await (const one of eventData(chunks())) data.push(one)
  return data
}

test('the data of every event is the same, wherever the network cuts, whatever ends a line', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !/[\r\n]/.test(text)),
        { maxLength: 8 },
      ),
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.array(fc.nat(), { maxLength: 30 }),
      fc.boolean(),
      async (texts, newline, cuts, hasComments) => {
        const comment = hasComments ? `: ping${newline}` : ''
        const stream = texts.map((text) => `${comment}data: ${text}${newline}${newline}`).join('')

        expect(await read(Buffer.from(stream), cuts)).toEqual(texts)
      },
    ),
  )
})

test('the last event counts also when the server closed before its blank line', async () => {
  expect(await read(Buffer.from('data: раз\n\ndata: два'))).toEqual(['раз', 'два'])
})

test('a letter cut in half at the end throws instead of becoming a replacement sign', async () => {
  const bytes = Buffer.from('data: Сделка')

  await expect(read(bytes.subarray(0, -1))).rejects.toMatchObject({ code: 'ERR_ENCODING_INVALID_ENCODED_DATA' })
})

test('an event that does not end is given up at a bound', async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield Buffer.from(`data: ${'я'.repeat(1_000_000)}`)
  }

  await expect(async () => {
    for await (const data of eventData(endless())) expect(data).toBe('never')
  }).rejects.toMatchObject({ code: 'EVENT_TOO_LONG' })
})
