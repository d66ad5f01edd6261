import type { MeteredAgent } from '../metrics/meter.ts'
import type { Agent, DeadLetter } from '../protocol/agent.ts'
import { encode } from '../protocol/codec.ts'
import { FootholdError } from '../protocol/errors.ts'
import { cut } from '../protocol/explain/cut.ts'
import { checkBySchema, issuesText } from '../protocol/schema-check.ts'
import type { TaskContext } from '../protocol/task-context.ts'
import type { HandlerRegistration } from '../store/workers.ts'
import type { AgentRun } from './execution.ts'

/**
 * A handler is the code that a stored task asks for: `agent@version`, or `agent@version/dead_letter` for the follow-up
 * of a dead letter. A worker claims the handlers it has, those of versions its agents can go on with included.
 */

export interface Handler {
  readonly agent: string
  /** The one that the task was submitted for, unless the code of another version has gone on with it. */
  readonly version: number
  readonly run: AgentRun
}

const DEAD_LETTER = '/dead_letter'
/** Of an input that is refused, beside the refusal. */
const STORED_CHARACTERS_MAX = 200

export function handlersOf(agents: readonly Agent[]): ReadonlyMap<string, Handler> {
  const handlers = new Map<string, Handler>()
  for (const agent of agents) {
    for (const version of [agent.version, ...agent.continues]) {
      add(handlers, `${agent.name}@${version}`, { agent: agent.name, version, run: runOf(agent) })
      const followUp = followUpOf(agent)
      if (followUp !== null) {
        add(handlers, `${agent.name}@${version}${DEAD_LETTER}`, { agent: agent.name, version, run: followUp })
      }
    }
  }
  return handlers
}

function add(handlers: Map<string, Handler>, name: string, handler: Handler): void {
  if (handlers.has(name)) {
    throw new FootholdError('INVALID_ARGUMENT', {
      field: 'agents',
      problem: `${name} is given twice`,
      cure: 'Give each agent and version once.',
    })
  }
  handlers.set(name, handler)
}

export function registrationsOf(agents: readonly Agent[]): readonly HandlerRegistration[] {
  return agents.map((agent) => ({
    handler: ownHandler(agent),
    name: agent.name,
    version: agent.version,
    deadlineMs: agent['~code'].deadlineMs,
    hasDeadLetterHandler: agent['~code'].onDeadLetter !== null,
  }))
}

/** As `tasks.agent` names them. */
export function meteredAgentsOf(agents: readonly Agent[]): readonly MeteredAgent[] {
  return agents.flatMap(({ name, '~code': { reasons, onDeadLetter } }) => {
    const names = onDeadLetter === null ? [name] : [name, `${name}${DEAD_LETTER}`]
    return names.map((each) => ({ agent: each, reasons }))
  })
}

/** `support/dead_letter` of `support@3/dead_letter`. */
export function agentOfHandler(handler: string): string {
  return handler.replace(/@\d+(?=\/|$)/, '')
}

function runOf(agent: Agent): AgentRun {
  const code = agent['~code']
  return {
    handler: ownHandler(agent),
    retry: code.retry,
    start: (task, input) => code.run(task, input),
    checkInput: (input, wasAccepted) => checkInput(agent, input, wasAccepted),
  }
}

function followUpOf(agent: Agent): AgentRun | null {
  const code = agent['~code']
  const { onDeadLetter } = code
  if (onDeadLetter === null) return null
  type Envelope = { readonly input: unknown; readonly deadLetter: DeadLetter }
  return {
    handler: `${ownHandler(agent)}${DEAD_LETTER}`,
    retry: code.retry,
    start: (task: TaskContext, envelope) => {
      const { input, deadLetter } = envelope as Envelope
      return onDeadLetter(task, input, deadLetter)
    },
    // What no producer has checked may be the very reason of the dead letter: it is handed on as it is.
    checkInput: async (envelope) => envelope,
  }
}

async function checkInput(agent: Agent, input: unknown, wasAccepted: boolean): Promise<unknown> {
  const checked = await checkBySchema(agent['~code'].input, input)
  if (checked.kind === 'valid') return checked.value
  const { issues } = checked
  if (!wasAccepted) throw new FootholdError('INPUT_INVALID', { agent: agent.name, issues })
  throw new FootholdError('CODE_CHANGED', {
    key: null,
    expected: `what ${ownHandler(agent)} takes (${issuesText(issues)})`,
    stored: cut(encode(input, 'the input'), STORED_CHARACTERS_MAX),
  })
}

function ownHandler({ name, version }: Agent): string {
  return `${name}@${version}`
}
