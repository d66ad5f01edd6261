import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  agent,
  type Effect,
  type Explanation,
  type Queryable,
  RetryError,
  type StepContext,
  type StepOptions,
  type TaskContext,
  TerminalError,
} from '../../src/index.ts'
import { wayOnText } from '../../src/protocol/explain/explanation-fields.ts'
import { LEDGER, ledgerAgent } from '../chaos/ledger-agent.ts'
import { startWorkerProcess } from '../chaos/processes.ts'
import { agentOf, setup, until, type World } from './world.ts'

/**
 * Why a task stands still, cause by cause, with real workers: `why` names it, and the functions that it says will be
 * called a second time are exactly those that then are.
 */

const FAST = { attemptsMax: 2, firstDelayMs: 10 } as const

/** An agent of four parts; a case says what one of them does until the cause is mended. */
class Script {
  readonly calls: string[] = []
  isMended = false
  /** Calls before the explanation. */
  before: readonly string[] = []
  readonly plan: (context: StepContext) => Promise<unknown>
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
    this.plan = this.part('plan', parts.plan)
  }

  /** Notes the call, and does as the case says until it is mended. */
  part<Arguments extends unknown[]>(
    key: string,
    act: ((...args: Arguments) => unknown) | undefined,
  ): (...args: Arguments) => Promise<unknown> {
    return async (...args) => {
      this.calls.push(key)
      return this.isMended || act === undefined ? `${key} готово` : act(...args)
    }
  }

  agent(): Agent {
    const { deadlineMs, between, optional, store, generate, planOptions, crm } = this.#parts
    return agent({
      name: 'test',
      input: z.object({ text: z.string() }),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
      run: async (task) => {
        await task.step('retrieve', this.part('retrieve', undefined))
        if (optional !== undefined)
          await task.step('optional', this.part('optional', optional), { retry: FAST }).catch(() => null)
        await task.step('plan', this.plan, { retry: FAST, ...planOptions?.(this) })
        await between?.(task, this)
        await task.effect('tool_call:crm', crm?.(this) ?? this.crm({}))
        await task.step('generate', this.part('generate', generate), {
          retry: FAST,
          timeoutMs: this.#parts.generateMs ?? 20_000,
        })
        if (store !== undefined) await task.transaction('store', this.part('store', store) as never, { retry: FAST })
        return 'готово'
      },
    })
  }

  crm(
    more: Partial<{
      send: () => unknown
      find: () => unknown
      request: () => unknown
      onDoubt: 'ask' | 'repeat'
    }>,
  ): Effect<unknown, unknown> {
    const send = this.part('tool_call:crm', more.send)
    const common = { request: more.request?.() ?? { title: 'Возврат' }, send, retry: FAST, timeoutMs: 2_000 }
    if (more.onDoubt !== undefined) return { ...common, onDoubt: more.onDoubt } as never
    if (more.find !== undefined)
      return { ...common, find: this.part('tool_call:crm', more.find), findLagMs: 10 } as never
    return { ...common, keyWindowMs: 3_600_000 } as never
  }
}

interface Parts {
  readonly plan?: (context: StepContext) => unknown
  readonly planOptions?: (script: Script) => StepOptions
  readonly optional?: () => unknown
  readonly between?: (task: TaskContext, script: Script) => Promise<unknown>
  readonly crm?: (script: Script) => Effect<unknown, unknown>
  readonly generate?: (context: StepContext) => unknown
  readonly generateMs?: number
  readonly store?: (sql: Queryable) => unknown
  readonly deadlineMs?: number
}

interface Case {
  readonly parts: Parts
  /** What `why` says. */
  readonly why: string
  readonly goesOn: Explanation['goesOn']
  /** The keys on the line. */
  readonly repeats: readonly string[]
  readonly next?: string
  readonly submit?: (world: World) => Promise<{ readonly id: Explanation['id'] }>
  /** Where it stands still; a dead letter by default. */
  readonly stands?: (seen: { status: string; waitingFor: string | null }) => boolean
  readonly inVain?: boolean
  /** What a person does; a resume by default. */
  readonly act?: (world: World, id: never) => Promise<unknown>
}

const throws = (error: () => Error) => (): never => {
  throw error()
}
const hangs = ({ signal }: StepContext): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
const nothing = async (): Promise<void> => {}
const isPending = (seen: { status: string }): boolean => seen.status === 'pending'

const CASES: Readonly<Record<string, Case>> = {
  'a step that threw until its tries ended': {
    parts: { plan: throws(() => new Error('индекс не найден')) },
    why: 'a step failed: step "plan": индекс не найден',
    goesOn: 'by_resume',
    repeats: ['plan'],
  },
  'a step that was tolerated, and one after it that was not': {
    parts: { optional: throws(() => new TerminalError('нет')), plan: throws(() => new TerminalError('совсем нет')) },
    why: 'step "plan": TerminalError: совсем нет',
    goesOn: 'by_resume',
    repeats: ['optional', 'plan'],
  },
  'a step that ran into its time limit': {
    parts: { generate: hangs, generateMs: 50 },
    why: 'a step took longer than its limit: step "generate"',
    goesOn: 'by_resume',
    repeats: ['generate'],
  },
  "the agent's deadline": {
    parts: { generate: hangs, deadlineMs: 2_000 },
    why: 'it did not end before its deadline',
    goesOn: 'by_resume',
    repeats: ['generate'],
  },
  "a producer's deadline": {
    parts: { generate: hangs },
    submit: ({ foothold }) => foothold.submit('test', { text: 'а' }, { deadlineAt: new Date(Date.now() + 1_500) }),
    why: 'it did not end before its deadline',
    goesOn: 'in_vain',
    repeats: [],
    next: 'foothold tasks cancel',
  },
  'a model that was unavailable until the deadline': {
    parts: { generate: throws(() => new RetryError('503', { reason: 'llm_unavailable' })), deadlineMs: 2_000 },
    why: 'it did not end before its deadline',
    goesOn: 'by_resume',
    repeats: ['generate'],
  },
  'a model that refused': {
    parts: { generate: throws(() => new TerminalError('не буду', { reason: 'llm_refused' })) },
    why: 'the model refused to answer: step "generate": TerminalError: не буду',
    goesOn: 'by_resume',
    repeats: ['generate'],
  },
  'a CRM that rejected': {
    parts: {
      crm: (script) => script.crm({ send: throws(() => new TerminalError('400', { reason: 'crm_rejected' })) }),
    },
    why: 'the CRM rejected the request: step "tool_call:crm": TerminalError: 400',
    goesOn: 'by_resume',
    repeats: ['tool_call:crm'],
  },
  'an effect in doubt whose receiver keeps keys': {
    parts: { crm: (script) => script.crm({ send: throws(() => new Error('обрыв')) }) },
    why: 'step "tool_call:crm": обрыв',
    goesOn: 'by_resume',
    repeats: ['tool_call:crm'],
  },
  'an effect in doubt that can be looked up': {
    parts: {
      crm: (script) =>
        script.crm({ send: throws(() => new Error('обрыв')), find: throws(() => new Error('поиск не отвечает')) }),
    },
    why: 'step "tool_call:crm": поиск не отвечает',
    goesOn: 'by_resume',
    repeats: ['tool_call:crm'],
  },
  'an effect about which a person is asked, who says that it happened': {
    parts: { crm: (script) => script.crm({ onDoubt: 'ask', send: throws(() => new Error('обрыв')) }) },
    stands: ({ waitingFor }) => waitingFor === 'person',
    why: 'a person must look at the receiver and decide',
    goesOn: 'by_itself',
    repeats: [],
    next: 'foothold decide',
    act: ({ foothold }, id) => foothold.decide(id, 'tool_call:crm', { outcome: 'done', result: 1, by: 'анна' }),
  },
  'an effect that is asked for in another form than it was sent': {
    parts: (() => {
      let title = 0
      return {
        crm: (script: Script) => {
          title += 1
          return script.crm({ request: () => ({ title }), send: throws(() => new Error('обрыв')) })
        },
      }
    })(),
    why: 'an effect was asked for in another form than it had been sent',
    goesOn: 'in_vain',
    repeats: [],
    inVain: true,
    next: 'foothold tasks restart',
  },
  'an input that does not fit': {
    parts: {},
    submit: ({ foothold }) => foothold.submit('test', 17),
    why: 'its input does not fit the agent',
    goesOn: 'in_vain',
    repeats: [],
    inVain: true,
    next: 'foothold tasks cancel',
  },
  'code that no longer fits what is stored': {
    parts: (() => {
      let version = 1
      return {
        planOptions: () => ({ version }),
        generate: () => {
          version = 2
          throw new Error('сначала ошибка')
        },
      }
    })(),
    stands: ({ waitingFor }) => waitingFor === 'code',
    why: 'step "plan" is stored as a step, version 1, but this code wants a step, version 2',
    goesOn: 'in_vain',
    // Its failed step lies behind the one that is refused: it is not reached.
    repeats: [],
    inVain: true,
    next: 'foothold tasks resume',
  },
  'a transaction that the database rolled back': {
    parts: {
      async store(sql) {
        await sql.query('create temporary table twin (id int unique deferrable initially deferred) on commit drop')
        await sql.query('insert into twin values (1), (1)')
      },
    },
    why: 'step "store"',
    goesOn: 'by_resume',
    repeats: ['store'],
  },
  'a back-off': {
    parts: {
      plan: throws(() => new RetryError('позже', { afterMs: 1_500 })),
    },
    stands: ({ waitingFor }) => waitingFor === 'retry',
    why: 'it is tried again, in',
    goesOn: 'by_itself',
    repeats: ['plan'],
    act: nothing,
  },
  'a sleep': {
    parts: { between: (task, script) => (script.isMended ? task.sleep('пауза', 0) : task.sleep('пауза', 1_500)) },
    stands: ({ waitingFor }) => waitingFor === 'sleep',
    why: 'it sleeps in "пауза"',
    goesOn: 'by_itself',
    repeats: [],
    act: nothing,
  },
  'a pause of its agent, in the middle of it': {
    parts: {
      between: async (_task, script) => {
        if (script.isMended) return
        script.calls.push('between')
        await new Promise((resolve) => setTimeout(resolve, 5_000).unref())
      },
    },
    stands: isPending,
    why: 'agent test has been paused',
    goesOn: 'by_itself',
    repeats: [],
    next: 'foothold unpause --agent test',
    act: ({ foothold }) => foothold.unpause({ agent: 'test' }),
  },
  'its cancelling': {
    parts: { generate: hangs },
    stands: ({ status }) => status === 'cancelled',
    why: 'it was cancelled: клиент передумал',
    goesOn: 'never',
    repeats: [],
    next: 'foothold tasks restart',
    act: nothing,
  },
}

test.for(Object.entries(CASES))('%s', async ([name, wanted]) => {
  const world = await setup()
  const script = new Script(wanted.parts)
  await world.worker([script.agent()])
  const { id } = await (wanted.submit?.(world) ?? world.foothold.submit('test', { text: 'а' }))
  await trouble(name, world, script, id)
  const isStanding = wanted.stands ?? (({ status }) => status === 'dead_letter')
  await until(`it stands: ${name}`, async () => {
    const task = await world.foothold.task(id as never)
    return task !== null && isStanding(task)
  })

  const said = await explained(world, id, wanted.repeats.length)
  script.before = [...script.calls]
  script.isMended = wanted.inVain !== true
  const attempts = said.attempts.length
  await (wanted.act?.(world, id as never) ?? world.foothold.resume(id as never))
  await until(`it has gone on: ${name}`, async () => {
    const task = await world.foothold.task(id as never)
    const hasEnded = task?.status === 'completed' || task?.status === 'dead_letter' || task?.waitingFor === 'code'
    return wanted.goesOn === 'never' || (hasEnded && task.attempts.length > attempts)
  })

  const after = script.calls.slice(script.before.length)
  const again = [...new Set(after.filter((key) => script.before.includes(key) && key !== 'between'))]
  expect(said.why).toContain(wanted.why)
  expect(said.goesOn).toBe(wanted.goesOn)
  expect(printedRepeats(said)).toEqual(wanted.repeats)
  expect(again.toSorted(), wayOnText(said)).toEqual(printedRepeats(said).toSorted())
  if (wanted.next !== undefined) expect(said.next[0]).toContain(wanted.next)
})

test('three crashes of its worker', async () => {
  const world = await setup()
  const { url, foothold, query, worker } = world
  await query(LEDGER)
  // Somebody has to find out that they died.
  await worker([agentOf(async () => null, { name: 'other' })])
  const options = { url, receiver: 'keys', concurrency: 1 } as const
  const first = startWorkerProcess({ ...options, pauseMs: 600, killAt: [{ point: 'step.ran', key: 'plan' }] })
  await first.tells((told) => told['message'] === 'worker started')
  const handle = await foothold.submit(ledgerAgent(url, { receiver: 'keys' }), null)
  await first.exited
  for (let crash = 2; crash <= 3; crash += 1) {
    await startWorkerProcess({ ...options, pauseMs: 600, killAt: [{ point: 'step.ran', key: 'plan' }] }).exited
  }
  await until('it is a dead letter', async () => (await foothold.task(handle.id))?.status === 'dead_letter')

  const said = (await foothold.why(handle.id)) as Explanation
  const [seen] = await query<{ id: string }>('select coalesce(max(id), 0) as id from ledger')
  await foothold.resume(handle.id)
  await worker([ledgerAgent(url, { receiver: 'keys' })])
  await handle.result({ timeoutMs: 20_000 })

  const again = await query<{ what: string }>(
    `select distinct what from ledger n where id > $1 and exists (select 1 from ledger o where o.what = n.what and o.id <= $1)`,
    [seen?.id],
  )
  expect(said.why).toContain('its worker was lost again and again while running it (3 crashes in all)')
  expect(printedRepeats(said)).toEqual(['plan'])
  expect(again.map(({ what }) => what)).toEqual(['plan'])
})

test('no live worker with its handler', async () => {
  const { foothold, worker } = await setup()
  const script = new Script({})
  const gone = await worker([script.agent()])
  await gone.drain()
  await worker([agentOf(async () => null, { name: 'other' })])
  const handle = await foothold.submit('test', { text: 'а' })

  const said = (await foothold.why(handle.id)) as Explanation
  await worker([script.agent()])
  await handle.result({ timeoutMs: 10_000 })

  expect(said.why).toContain('no live worker has the handler test@1')
  expect(said.next[0]).toContain('foothold worker')
  expect(printedRepeats(said)).toEqual([])
})

/** What somebody outside does to it. */
async function trouble(name: string, { foothold }: World, script: Script, id: string): Promise<void> {
  if (name === 'its cancelling') {
    await until('it writes', () => script.calls.includes('generate'))
    await foothold.cancel(id as never, { reason: 'клиент передумал' })
  }
  if (name.startsWith('a pause')) {
    await until('it is between two steps', () => script.calls.includes('between'))
    await foothold.pause({ agent: 'test' })
  }
}

/** The trace of a step that was cut off comes a moment after its task's end. */
async function explained({ foothold }: World, id: string, repeats: number): Promise<Explanation> {
  let said = (await foothold.why(id as never)) as Explanation
  const untilMs = Date.now() + 2_000
  while (said.repeats.length < repeats && Date.now() < untilMs) said = (await foothold.why(id as never)) as Explanation
  return said
}

/** The keys as the line names them: read off the text that people see. */
function printedRepeats(said: Explanation): readonly string[] {
  const printed = /will repeat: (.*?)(?:; (?:a person|stays|will not)|$)/.exec(wayOnText(said))?.[1] ?? 'nothing'
  if (printed === 'nothing') return []
  return printed.replaceAll(/ \(.*?\)/g, '').split(', ')
}
