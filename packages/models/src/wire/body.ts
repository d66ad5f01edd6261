/** The bytes of a response; leaving the loop early closes the request. */
export async function* bodyBytes(response: Pick<Response, 'body'>): AsyncGenerator<Uint8Array, void, undefined> {
  if (response.body === null) return
  const reader = response.body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value as Uint8Array
    }
  } finally {
    // Nothing to wait for: the request is over for us, and a failed cancel is a closed connection.
    void reader.cancel().catch(() => undefined)
  }
}

/** The whole body as text; null when it is longer than allowed. */
export async function bodyText(response: Pick<Response, 'body'>, bytesMax: number): Promise<string | null> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let bytes = 0
  for await (const chunk of bodyBytes(response)) {
    bytes += chunk.byteLength
    if (bytes > bytesMax) return null
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
