import type { LlmCallOptions, LlmEvent, LlmModel, LlmRequest } from '../port.ts'
import { bodyBytes } from '../wire/body.ts'
import { eventData } from '../wire/event-stream.ts'
import { parseJson } from '../wire/json.ts'
import { type LinkedSignal, linkSignals } from '../wire/linked-signal.ts'
import { type Api, readJson } from './api.ts'
import { type ChatAnswer, chatAnswer, incomplete } from './chat-answer.ts'
import { chatRequest } from './chat-request.ts'
import { connectionError } from './connection-error.ts'
import { refusal, safeText } from './refusal.ts'

const PATH = '/chat/completions'
/** After the finish reason only `[DONE]` and the end of the body can come: a server that dallies is not waited for. */
const END_OF_BODY_MS = 1_000

export function gigachatModel(options: {
  readonly api: Api
  readonly model: string
  readonly sessionId?: string | undefined
}): LlmModel {
  const { api, model } = options
  return {
    id: model,
    provider: 'gigachat',
    async *stream(request: LlmRequest, call: LlmCallOptions): AsyncGenerator<LlmEvent, void, undefined> {
      const link = linkSignals(call.signal, api.closing)
      const answer = chatAnswer(model)
      try {
        const response = await api.post(PATH, {
          body: chatRequest(model, request),
          accept: request.stream === true ? 'text/event-stream' : 'application/json',
          sessionId: call.sessionId ?? options.sessionId,
          signal: link.signal,
        })
        if (isEventStream(response)) yield* readStream(response, answer, link)
        else yield* answer.add(await readJson(response, `${api.host}${PATH}`))
      } catch (error) {
        yield* answer.usage()
        for (const signal of [call.signal, api.closing]) signal.throwIfAborted()
        throw connectionError(error, api.host)
      } finally {
        // Also when the caller leaves the loop: the request ends with it.
        link.abort(new Error('The answer is not read any further.'))
        link.unlink()
      }
      yield* answer.usage()
      yield* answer.end()
    },
  }
}

function isEventStream(response: Response): boolean {
  return (response.headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream')
}

async function* readStream(
  response: Response,
  answer: ChatAnswer,
  link: LinkedSignal,
): AsyncGenerator<LlmEvent, void, undefined> {
  let timer: NodeJS.Timeout | null = null
  let isDone = false
  try {
    for await (const data of eventData(bodyBytes(response))) {
      // Read on to the end of the body, so that its socket can serve the next call.
      if (isDone) continue
      if (data === '[DONE]') isDone = true
      else yield* answer.add(readEvent(data))
      if (answer.isFinished || isDone)
        timer ??= setTimeout(() => link.abort(new Error('The end of the body is not waited for.')), END_OF_BODY_MS)
    }
  } catch (error) {
    // Cut after the finish reason: the answer is whole.
    if (!answer.isFinished && !isDone) throw error
  } finally {
    if (timer !== null) clearTimeout(timer)
  }
}

function readEvent(data: string): unknown {
  let event: unknown
  try {
    event = parseJson(data)
  } catch {
    throw incomplete('an event of the stream was not JSON')
  }
  const { status, message, choices } = (event ?? {}) as { status?: unknown; message?: unknown; choices?: unknown }
  if (choices === undefined && typeof status === 'number' && status >= 400) {
    // The status line was sent long ago: an error in mid-stream comes as an event.
    throw refusal(status, typeof message === 'string' ? safeText(message, []) : null, null)
  }
  return event
}
