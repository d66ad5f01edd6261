/** The page's way to the API: the token kept for this tab, and the event stream read by fetch, which can bear it. */

const TOKEN_KEY = 'foothold.token'
const SILENCE_MAX_MS = 45_000
const RETRY_MS = 1_000
const RETRY_MAX_MS = 15_000

export class Refused extends Error {
  constructor(status, code, message) {
    super(message)
    this.status = status
    this.code = code
  }
}

let askForToken = () => Promise.resolve('')
let asking = null

/** `ask` shows the question and resolves with the token. */
export function onTokenNeeded(ask) {
  askForToken = ask
}

export async function getJson(path, signal) {
  return (await send(path, { signal })).json()
}

export async function post(path) {
  return send(path, { method: 'POST' })
}

/**
 * Calls `onEvent` with each event of a task until its `end` or the signal; reconnects after the last cursor. Refusals
 * that will not pass are thrown.
 */
export async function watchTask(id, { signal, onEvent, onCut }) {
  let cursor = null
  let failures = 0
  while (!signal.aborted) {
    try {
      const headers = cursor === null ? {} : { 'last-event-id': cursor }
      const response = await send(`v1/tasks/${id}/events`, { signal, headers })
      for await (const { name, data, lastId } of messagesOf(response.body)) {
        failures = 0
        if (lastId !== null) cursor = lastId
        onEvent(name, JSON.parse(data))
        if (name === 'end') return
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof Refused && error.status < 500 && error.status !== 429) throw error
      failures += 1
    }
    onCut()
    await pause(Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** failures) * (0.5 + Math.random() / 2), signal)
  }
}

async function send(path, init) {
  while (true) {
    const token = sessionStorage.getItem(TOKEN_KEY)
    const headers = { ...init.headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) }
    const response = await fetch(path, { ...init, headers, cache: 'no-store' })
    if (response.ok) return response
    if (response.status !== 401) throw await refusalOf(response)
    // Requests that failed together share one question, and one answer.
    if (sessionStorage.getItem(TOKEN_KEY) === token) {
      asking ??= askForToken().finally(() => {
        asking = null
      })
      sessionStorage.setItem(TOKEN_KEY, await asking)
    }
  }
}

async function refusalOf(response) {
  const problem = await response.json().catch(() => null)
  const { code = 'UNEXPECTED_ANSWER', detail = `The server answered ${response.status}.` } = problem ?? {}
  return new Refused(response.status, code, detail)
}

/** Our server writes each message as `id:`, `event:`, one `data:` line and an empty line; comments keep it alive. */
async function* messagesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    while (true) {
      const { done, value } = await withinSilence(reader.read())
      if (done) return
      const parts = (rest + value).split('\n\n')
      rest = parts.pop()
      for (const part of parts) {
        const message = messageOf(part)
        if (message.name !== null) yield message
      }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

function messageOf(part) {
  const message = { name: null, data: '', lastId: null }
  for (const line of part.split('\n')) {
    if (line.startsWith('event: ')) message.name = line.slice(7)
    if (line.startsWith('data: ')) message.data = line.slice(6)
    if (line.startsWith('id: ')) message.lastId = line.slice(4)
  }
  return message
}

async function withinSilence(promise) {
  let timer
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('the stream went silent')), SILENCE_MAX_MS)
  })
  try {
    return await Promise.race([promise, silence])
  } finally {
    clearTimeout(timer)
  }
}

export function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
