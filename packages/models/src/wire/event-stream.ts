import { createParser } from 'eventsource-parser'

/** One event holds some words; a server that sends megabytes without an end is broken, and memory is shared by all tasks. */
const EVENT_CHARACTERS_MAX = 4 * 1024 * 1024

/**
 * The `data` of each server-sent event. Bytes may be cut anywhere, lines end as they like, comments are skipped. Bytes
 * that are not UTF-8 throw: a replacement sign in a client's answer is worse than another try.
 */
export async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const ready: string[] = []
  let fault: Error | null = null
  const parser = createParser({
    maxBufferSize: EVENT_CHARACTERS_MAX,
    onEvent: (event) => ready.push(event.data),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') fault = Object.assign(error, { code: 'EVENT_TOO_LONG' })
    },
  })
  const feed = function* (text: string): Generator<string> {
    if (text !== '') parser.feed(text)
    yield* ready.splice(0)
    if (fault !== null) throw fault
  }
  for await (const bytes of body) yield* feed(decoder.decode(bytes, { stream: true }))
  // The last event counts even when the server closed before its blank line.
  yield* feed(`${decoder.decode()}\n\n`)
}
