import { createParser, type EventSourceMessage } from 'eventsource-parser'

/** One event carries one chunk, and a chunk is never larger than a payload. */
const EVENT_CHARACTERS_MAX = 32 * 1024 * 1024

export interface MessageOptions {
  /** The server comments every 15 s; a stream silent for longer than this is taken for cut. */
  readonly silenceMaxMs: number
  readonly onRetry: (ms: number) => void
  /** Anything came, be it a comment. */
  readonly onHeard: () => void
}

/** The messages of one response. Leaving the loop early cancels the body, and with it the connection. */
export async function* eventMessages(
  body: ReadableStream<Uint8Array>,
  { silenceMaxMs, onRetry, onHeard }: MessageOptions,
): AsyncGenerator<EventSourceMessage> {
  const ready: EventSourceMessage[] = []
  const parser = createParser({
    maxBufferSize: EVENT_CHARACTERS_MAX,
    onEvent: (message) => ready.push(message),
    onRetry,
  })
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    while (true) {
      const { done, value } = await withinMs(reader.read(), silenceMaxMs)
      if (done) return
      onHeard()
      parser.feed(decoder.decode(value, { stream: true }))
      yield* ready.splice(0)
    }
  } finally {
    // A body that already failed rejects its cancel with the error that is on its way to the caller.
    await reader.cancel().catch(() => {})
  }
}

async function withinMs<T>(promise: Promise<T>, limitMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came for ${limitMs} ms`)), limitMs)
  })
  try {
    return await Promise.race([promise, silence])
  } finally {
    clearTimeout(timer)
  }
}
