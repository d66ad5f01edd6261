import type { Agent } from '../protocol/agent.ts'
import { decode, encode } from '../protocol/codec.ts'
import type { TaskContext } from '../protocol/task-context.ts'

/**
 * `foothold dev --shake`: after every step the run is dropped and the agent's function begins again from the top, with
 * what is stored answering at once; when it has returned, once more. Its steps are carried out and stored as ever, each
 * once. What a resume would make different in production is told here:
 * - steps: it asks for another step than before, or for none where one is stored
 * - input: it gives a step something else than before
 * - output: it returns something else
 */

export type OnDifference = (difference: {
  readonly task: string
  readonly agent: string
  readonly what: 'steps' | 'input' | 'output'
  readonly said: string
}) => void

const KEYED = [
  'step',
  'transaction',
  'effect',
  'sleep',
  'sleepUntil',
  'waitForSignal',
  'approval',
  'child',
  'children',
] as const
/** A history is kept while the task is under way in this process; the oldest are forgotten. */
const TASKS_MAX = 1_000

interface Call {
  readonly key: string
  readonly kind: string
  /** JSON; null where a step says nothing that could be compared. */
  readonly input: string | null
}

/** What earlier runs of one task did, in all attempts of this process. */
interface History {
  calls: readonly Call[]
  /** While two steps were under way at once, their order is nobody's promise. */
  isParallel: boolean
  isTold: boolean
}

export function shakenAgent<Shaken extends Agent>(agent: Shaken, onDifference: OnDifference): Shaken {
  const code = agent['~code']
  const histories = new Map<string, History>()
  const historyOf = (id: string): History => {
    const known = histories.get(id)
    if (known !== undefined) return known
    const history: History = { calls: [], isParallel: false, isTold: false }
    histories.set(id, history)
    const [oldest] = histories.keys()
    if (histories.size > TASKS_MAX && oldest !== undefined) histories.delete(oldest)
    return history
  }
  const run = async (task: TaskContext, input: unknown): Promise<unknown> => {
    const inputText = encode(input, 'the input')
    const attempt = new ShakenAttempt(task, historyOf(task.id), (what, said) =>
      onDifference({ task: task.id, agent: agent.name, what, said }),
    )
    return attempt.shake((context) => code.run(context, decode(inputText)))
  }
  return { ...agent, '~code': { ...code, run } }
}

type Answer = { readonly value: string } | { readonly error: unknown }

class ShakenAttempt {
  readonly #task: TaskContext
  readonly #history: History
  readonly #tell: (what: 'steps' | 'input' | 'output', said: string) => void
  /** What the engine has answered in this attempt, or will. */
  readonly #answers = new Map<string, { readonly promise: Promise<Answer>; isThere: boolean }>()

  constructor(task: TaskContext, history: History, tell: (what: 'steps' | 'input' | 'output', said: string) => void) {
    this.#task = task
    this.#history = history
    this.#tell = (what, said) => {
      // The first difference makes all that follow.
      if (history.isTold) return
      history.isTold = true
      tell(what, said)
    }
  }

  async shake(start: (context: TaskContext) => Promise<unknown>): Promise<unknown> {
    for (;;) {
      const end = await this.#once(start)
      if (end === 'dropped') continue
      if (!('output' in end)) throw end.error
      if (!this.#history.isTold) await this.#compareOutputs(end.output, start)
      return end.output
    }
  }

  async #compareOutputs(output: unknown, start: (context: TaskContext) => Promise<unknown>): Promise<void> {
    const again = await this.#once(start)
    if (again === 'dropped') return this.#tell('steps', 'a run after the last one asked for one more step')
    if (!('output' in again)) return this.#tell('output', `it threw when it was run again: ${String(again.error)}`)
    const [first, second] = [output, again.output].map((value) => textOf(value ?? null))
    if (first !== second) this.#tell('output', `it returned ${cut(first)}, and when it was run again ${cut(second)}`)
  }

  /** One run from the top, until it ends or a step has been carried out that was not stored before. */
  async #once(
    start: (context: TaskContext) => Promise<unknown>,
  ): Promise<'dropped' | { readonly output: unknown } | { readonly error: unknown }> {
    const calls: Call[] = []
    let drop: () => void = () => undefined
    const dropped = new Promise<'dropped'>((resolve) => {
      drop = () => resolve('dropped')
    })
    let isOver = false
    const call = async (kind: string, args: readonly unknown[]): Promise<unknown> => {
      if (isOver) return new Promise<never>(() => undefined)
      const [key] = args
      if (typeof key !== 'string' || calls.some((one) => one.key === key)) return this.#forward(kind, args)
      this.#note(calls, { key, kind, input: inputOf(kind, args[1]) })
      let answer = this.#answers.get(key)
      const wasThere = answer?.isThere ?? false
      if (answer === undefined) {
        answer = this.#ask(kind, args)
        this.#answers.set(key, answer)
      }
      const given = await answer.promise
      if (isOver) return new Promise<never>(() => undefined)
      // A failure is no reason to begin again: the agent's own code has the next word.
      if ('error' in given) throw given.error
      if (!wasThere && !this.#history.isTold) {
        isOver = true
        drop()
        return new Promise<never>(() => undefined)
      }
      return decode(given.value)
    }
    const shaken = Object.fromEntries(
      KEYED.filter((kind) => kind in this.#task).map((kind) => [kind, (...args: unknown[]) => call(kind, args)]),
    )
    const ended = start({ ...this.#task, ...shaken } as TaskContext).then(
      (output) => ({ output }),
      (error: unknown) => ({ error }),
    )
    const end = await Promise.race([ended, dropped])
    isOver = true
    if (end !== 'dropped' && 'output' in end) this.#checkAllAsked(calls)
    this.#history.calls = calls.length > this.#history.calls.length ? calls : this.#history.calls
    return end
  }

  #ask(kind: string, args: readonly unknown[]): { readonly promise: Promise<Answer>; isThere: boolean } {
    if ([...this.#answers.values()].some(({ isThere }) => !isThere)) this.#history.isParallel = true
    const asked = {
      isThere: false,
      promise: this.#forward(kind, args).then(
        (value): Answer => ({ value: encode(value ?? null, 'what the step gave') }),
        (error: unknown): Answer => ({ error }),
      ),
    }
    void asked.promise.then(() => {
      asked.isThere = true
    })
    return asked
  }

  #forward(kind: string, args: readonly unknown[]): Promise<unknown> {
    const method = this.#task[kind as 'step'] as (...given: unknown[]) => Promise<unknown>
    return method.apply(this.#task, [...args])
  }

  #note(calls: Call[], call: Call): void {
    const before = this.#history.calls
    const same = before.find((one) => one.key === call.key)
    if (same !== undefined && same.input !== call.input) {
      this.#tell(
        'input',
        `${call.kind} ${JSON.stringify(call.key)} was given ${cut(same.input)}, and now ${cut(call.input)}`,
      )
    }
    const expected = before[calls.length]
    if (!this.#history.isParallel && expected !== undefined && expected.key !== call.key) {
      this.#tell(
        'steps',
        `call ${calls.length + 1} was ${JSON.stringify(expected.key)}, and now ${JSON.stringify(call.key)}`,
      )
    }
    calls.push(call)
  }

  #checkAllAsked(calls: readonly Call[]): void {
    const missing = this.#history.calls.find(({ key }) => !calls.some((one) => one.key === key))
    if (missing !== undefined) {
      this.#tell(
        'steps',
        `${JSON.stringify(missing.key)} is stored, and the run that came to the end did not ask for it`,
      )
    }
  }
}

/** What a call says beside its function, as far as it is stored or decides what is. */
function inputOf(kind: string, second: unknown): string | null {
  if (kind === 'effect') return textOf((second as { readonly request?: unknown } | null)?.request ?? null)
  if (kind === 'waitForSignal') return textOf((second as { readonly name?: unknown } | null)?.name ?? null)
  // A duration or a time may follow the clock: it counts from the first time it was given.
  return null
}

function textOf(value: unknown): string {
  try {
    return encode(value, 'a value')
  } catch {
    return String(value)
  }
}

const SHOWN_MAX = 200

function cut(text: string | null | undefined): string {
  const given = text ?? 'nothing'
  return given.length > SHOWN_MAX ? `${given.slice(0, SHOWN_MAX)}…` : given
}
