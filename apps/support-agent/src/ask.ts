import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { ApiError, type Client, createClient, type TaskEvent } from '@foothold/http-api'
import { ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX } from './agent/request.ts'
import type { SupportAnswer } from './agent/support.ts'
import { harmless, type Paint, painter } from './start/terminal.ts'

const USAGE = `usage: npm run ask -- "question" [--attach FILE]... [--client ID] [--name NAME] [--locale ru] [--url URL]
       npm run ask -- --task ID      shows a task that was submitted before

The answer goes to stdout, everything else to stderr.
Exit codes: 0 answered, 1 failed or cancelled, 2 wrong use, 3 no server, 130 Ctrl-C (the task goes on).`

const EXIT = { ok: 0, failed: 1, usage: 2, noServer: 3, interrupted: 130 } as const

class UsageError extends Error {}

interface Question {
  readonly text: string
  readonly attachments: readonly { readonly name: string; readonly base64: string }[]
  readonly client: { readonly id: string; readonly name?: string }
  readonly locale: string | undefined
  readonly taskId: string | undefined
  readonly url: string
}

export async function ask(
  args: readonly string[],
  settings: { readonly url: string; readonly token: string | null },
): Promise<number> {
  const paint = painter(null, process.stderr)
  let question: Question
  let client: Client
  try {
    question = parseQuestion(args, settings.url)
    client = createClient({ url: question.url, ...(settings.token === null ? {} : { token: settings.token }) })
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}\n`)
    return EXIT.usage
  }
  const interrupt = new AbortController()
  process.once('SIGINT', () => interrupt.abort())
  let taskId: string | null = null
  try {
    taskId = question.taskId ?? (await submit(client, question, interrupt.signal))
    say(paint('dim', `task ${taskId}`))
    return await follow(client, taskId, interrupt.signal, paint)
  } catch (error) {
    if (interrupt.signal.aborted) {
      say(taskId === null ? '\nstopped' : `\nThe task goes on. To see it again: npm run ask -- --task ${taskId}`)
      return EXIT.interrupted
    }
    return complain(error, question.url)
  }
}

function parseQuestion(args: readonly string[], defaultUrl: string): Question {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      attach: { type: 'string', multiple: true, default: [] },
      task: { type: 'string' },
      client: { type: 'string', default: 'demo' },
      name: { type: 'string' },
      locale: { type: 'string' },
      url: { type: 'string' },
    },
  })
  const text = positionals.join(' ')
  if (values.task === undefined && text.trim() === '' && values.attach.length === 0)
    throw new UsageError('What is the question?')
  if (values.attach.length > ATTACHMENTS_MAX) throw new UsageError(`--attach: at most ${ATTACHMENTS_MAX} files.`)
  return {
    text,
    attachments: values.attach.map(readAttachment),
    client: { id: values.client, ...(values.name === undefined ? {} : { name: values.name }) },
    locale: values.locale,
    taskId: values.task,
    url: values.url ?? defaultUrl,
  }
}

function readAttachment(path: string): { name: string; base64: string } {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    throw new UsageError(`--attach ${path}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'}).`)
  }
  if (bytes.length > ATTACHMENT_BYTES_MAX) {
    throw new UsageError(
      `--attach ${path}: ${bytes.length} bytes, the limit is ${ATTACHMENT_BYTES_MAX}. Send the part that matters.`,
    )
  }
  return { name: basename(path), base64: bytes.toString('base64') }
}

async function submit(client: Client, question: Question, signal: AbortSignal): Promise<string> {
  const { text, attachments, locale } = question
  const task = {
    agent: 'support',
    input: { client: question.client, text, attachments, ...(locale === undefined ? {} : { locale }) },
    priority: 'live' as const,
    tenant: question.client.id,
    // A lost answer must not become a second task.
    dedupeKey: `ask:${randomUUID()}`,
  }
  try {
    return (await client.submit(task, { signal })).id
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'UNREACHABLE' || isRefusedConnection(error)) throw error
    return (await client.submit(task, { signal })).id
  }
}

/** The answer piece by piece on stdout, steps on stderr; then how it ended. */
async function follow(client: Client, taskId: string, signal: AbortSignal, paint: Paint): Promise<number> {
  const screen = new Screen(paint)
  for await (const event of client.events(taskId, { signal })) screen.show(event)
  const { status, output, error, lastReason } = await client.task(taskId, { signal })
  if (status === 'completed') {
    screen.finish(output as SupportAnswer)
    return EXIT.ok
  }
  screen.endAnswer()
  const why = error === null ? (lastReason ?? status) : `${lastReason ?? error.code}: ${error.message}`
  say(
    paint(
      'red',
      status === 'cancelled' ? `cancelled (${harmless(why)})` : `failed, a person will take over (${harmless(why)})`,
    ),
  )
  return EXIT.failed
}

class Screen {
  readonly #paint: Paint
  readonly #finished = new Set<string>()
  #attempt = 0
  /** Of the answer as it stands on stdout. */
  #written = ''
  #writingKey: string | null = null
  #isLineOpen = false

  constructor(paint: Paint) {
    this.#paint = paint
  }

  show(event: TaskEvent): void {
    switch (event.type) {
      case 'chunk':
        if (event.channel === 'text') this.#write(event.key, event.text)
        return
      case 'superseded':
        if (event.key === this.#writingKey) this.#restart('the answer is written anew')
        return
      case 'step':
        this.#step(event)
        return
      case 'status':
        if (event.attempt > this.#attempt && this.#attempt > 0 && event.status === 'processing') {
          this.#note(this.#paint('yellow', `↻ attempt ${event.attempt}: goes on from the last finished step`))
        }
        this.#attempt = Math.max(this.#attempt, event.attempt)
        return
      case 'end':
        return
    }
  }

  finish({ outcome, reply, ticketId, problems }: SupportAnswer): void {
    if (this.#written.trim() !== reply.trim()) {
      if (this.#written !== '') this.#note(this.#paint('dim', 'what the client is told:'))
      process.stdout.write(harmless(reply))
      this.#isLineOpen = true
    }
    this.endAnswer()
    for (const problem of problems) say(this.#paint('yellow', `! ${harmless(problem)}`))
    const ticket = ticketId === null ? '' : `, ticket ${harmless(ticketId)}`
    say(this.#paint('green', outcome === 'answered' ? `answered${ticket}` : `handed to a person${ticket}`))
  }

  endAnswer(): void {
    if (this.#isLineOpen) process.stdout.write('\n')
    this.#isLineOpen = false
  }

  #write(key: string, text: string): void {
    if (this.#writingKey !== null && this.#writingKey !== key) this.#restart('the check found problems; written anew')
    this.#writingKey = key
    this.#written += text
    this.#isLineOpen = true
    process.stdout.write(harmless(text))
  }

  #restart(why: string): void {
    this.#writingKey = null
    if (this.#written === '') return
    this.#written = ''
    this.#note(this.#paint('yellow', `↻ ${why}`))
  }

  #step({ key, status, tries, error }: Extract<TaskEvent, { readonly type: 'step' }>): void {
    // States may come again; a finished step is told once.
    if (status === 'completed' && !this.#finished.has(key)) {
      this.#finished.add(key)
      this.#note(`${this.#paint('green', '✓')} ${harmless(key)}`)
    } else if (status === 'failed' || status === 'unknown') {
      const name = `${key}#${tries}`
      if (this.#finished.has(name)) return
      this.#finished.add(name)
      this.#note(this.#paint('yellow', `✗ ${harmless(key)} (try ${tries}) ${harmless(error?.message ?? '')}`))
    }
  }

  #note(line: string): void {
    this.endAnswer()
    say(line)
  }
}

function complain(error: unknown, url: string): number {
  if (!(error instanceof ApiError)) throw error
  if (error.code === 'UNREACHABLE') {
    say(`Nothing answers at ${url}. Start it first: npm start (or give another address with --url).`)
    return EXIT.noServer
  }
  if (error.status === 401) {
    say(`${url} wants a token: set FOOTHOLD_TOKEN to the server's.`)
    return EXIT.failed
  }
  say(harmless(error.message))
  return EXIT.failed
}

function isRefusedConnection(error: ApiError): boolean {
  const cause = error.cause instanceof Error ? error.cause.cause : undefined
  return (cause as { code?: unknown } | undefined)?.code === 'ECONNREFUSED'
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
