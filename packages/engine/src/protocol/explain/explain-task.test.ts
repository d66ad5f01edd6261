import { describe, expect, test } from 'vitest'
import type { TaskId } from '../task-context.ts'
import type { AttemptView, StepView, TaskDetail } from '../views.ts'
import { explainTask } from './explain-task.ts'
import type { Explanation } from './explanation.ts'
import { explanationFields, wayOnText } from './explanation-fields.ts'
import type { TaskFacts } from './task-facts.ts'

const NOW = new Date('2026-12-02T06:00:00Z')
const ID = '0199d2c4-7e1f-7a30-8c5e-2f6b1d9a4e07' as TaskId

function ago(seconds: number): Date {
  return new Date(NOW.getTime() - seconds * 1_000)
}

const TASK: TaskDetail = {
  id: ID,
  agent: 'support',
  version: 3,
  status: 'pending',
  priority: 'normal',
  tenant: null,
  attempt: 0,
  workerId: null,
  lastReason: null,
  waitingFor: null,
  wakeAt: null,
  pausedBy: null,
  errorCount: 0,
  crashCount: 0,
  handoverCount: 0,
  cancelRequestedAt: null,
  createdAt: ago(600),
  startedAt: null,
  finishedAt: null,
  input: null,
  output: null,
  error: null,
  deadlineAt: null,
  parentId: null,
  parentKey: null,
  steps: [],
  attempts: [],
}

const FACTS: TaskFacts = {
  now: NOW,
  crashesMax: 3,
  crashesTotal: 0,
  isSuspect: false,
  handler: 'support@3',
  cancelReason: null,
  claimedAt: null,
  runAt: ago(600),
  isDeadlineFixed: false,
  failedStep: null,
  worker: null,
  liveWorkers: 2,
  freeSlots: 5,
  liveWorkersInAll: 4,
  tasksBefore: 0,
  pauses: [],
  limitedBy: null,
  pausedReleases: [],
  refusedBy: [],
  knownBy: [],
  unconsumedSignals: [],
  steps: [],
  begun: [],
  releases: { ofAttempts: [], firstSeen: [], successes: [] },
  followUp: null,
}

function stepOf(key: string, more: Partial<StepView> = {}): StepView {
  const rest = {
    version: 1,
    tries: 1,
    attempt: 1,
    workerId: 'w',
    output: null,
    error: null,
    usage: null,
    child: null,
    question: null,
  }
  return { key, kind: 'step', status: 'completed', startedAt: ago(300), finishedAt: ago(299), ...rest, ...more }
}

function said(task: Partial<TaskDetail>, facts: Partial<TaskFacts> = {}): Explanation {
  return explainTask({ ...TASK, ...task }, { ...FACTS, ...facts })
}

const LIVE = { status: 'active', lastHeartbeatAt: ago(2), isLeaseGood: true }

describe('why a task stands where it stands', () => {
  test.each<[string, Partial<TaskDetail>, Partial<TaskFacts>]>([
    ['about to be claimed: 2 live workers can run it, 5 slots are free, nothing stands before it', {}, {}],
    [
      '1 live worker can run it, all slots are taken, 40 stand before it',
      {},
      { liveWorkers: 1, freeSlots: 0, tasksBefore: 40 },
    ],
    ['no live worker has the handler support@3', {}, { liveWorkers: 0 }],
    ['no worker is alive that could run it', {}, { liveWorkers: 0, liveWorkersInAll: 0 }],
    ['before that, its worker was shut down and handed it over', { lastReason: 'graceful_shutdown' }, {}],
    [
      'it runs only where nothing else runs; before that, its worker was lost',
      { lastReason: 'orphaned' },
      { isSuspect: true },
    ],
    [
      'worker w is at it, in ответ; its heartbeat came 2 s ago',
      { status: 'processing', workerId: 'w' },
      { worker: LIVE, begun: [{ key: 'ответ', isInThisAttempt: true, at: ago(5) }] },
    ],
    [
      'its cancelling was asked for 30 s ago',
      { status: 'processing', workerId: 'w', cancelRequestedAt: ago(30) },
      { worker: LIVE },
    ],
    [
      'its worker w gave its last sign of life 40 s ago',
      { status: 'processing', workerId: 'w' },
      { worker: { status: 'active', lastHeartbeatAt: ago(40), isLeaseGood: false } },
    ],
    [
      'its worker w is lost',
      { status: 'processing', workerId: 'w' },
      { worker: { ...LIVE, status: 'lost', isLeaseGood: false } },
    ],
    ['its worker w is not registered', { status: 'processing', workerId: 'w' }, {}],
    [
      'not to start before 2026-12-02T07:00:00.000Z, in 1 h',
      { status: 'waiting', waitingFor: 'start', wakeAt: ago(-3_600) },
      { runAt: ago(-3_600) },
    ],
    [
      'step "ответ": модель занята; it is tried again, in 12 s',
      {
        status: 'waiting',
        waitingFor: 'retry',
        wakeAt: ago(-12),
        steps: [stepOf('ответ', { status: 'failed', error: { code: 'FAILED', message: 'модель занята' } })],
      },
      {},
    ],
    [
      'it sleeps in "пауза", due for 5 min now',
      {
        status: 'waiting',
        waitingFor: 'sleep',
        wakeAt: ago(300),
        steps: [stepOf('пауза', { kind: 'sleep', status: 'waiting' })],
      },
      {},
    ],
    [
      'a signal in "согласие"; none has come',
      { status: 'waiting', waitingFor: 'signal', steps: [stepOf('согласие', { kind: 'signal', status: 'waiting' })] },
      {},
    ],
    ['unused so far: другое', { status: 'waiting', waitingFor: 'signal' }, { unconsumedSignals: ['другое'] }],
    [
      'whether возврат happened',
      { status: 'waiting', waitingFor: 'person', steps: [stepOf('возврат', { kind: 'effect', status: 'unknown' })] },
      {},
    ],
    ['attempt 2 brought it to its end', { status: 'completed', attempt: 2, finishedAt: ago(5) }, {}],
    [
      'it was cancelled: клиент передумал',
      { status: 'cancelled', finishedAt: ago(5) },
      { cancelReason: 'клиент передумал' },
    ],
    [
      'its worker was lost again and again while running it (3 crashes in all): The task cost its worker its life 3 times',
      {
        status: 'dead_letter',
        lastReason: 'orphaned',
        error: { code: 'ORPHANED', message: 'The task cost its worker its life 3 times' },
      },
      { crashesTotal: 3 },
    ],
    [
      'the model refused the credentials: step "план": 401',
      {
        status: 'dead_letter',
        lastReason: 'llm_unauthorized',
        error: { code: 'FAILED', message: '401' },
        steps: [stepOf('план', { status: 'failed', error: { code: 'FAILED', message: '401' } })],
      },
      {},
    ],
    [
      'it did not end before its deadline: пора',
      {
        status: 'dead_letter',
        lastReason: 'deadline',
        error: { code: 'DEADLINE', message: 'пора' },
        steps: [stepOf('план', { status: 'failed', error: { code: 'FAILED', message: '429' } })],
      },
      {},
    ],
    [
      'своя_причина: беда',
      { status: 'dead_letter', lastReason: 'своя_причина', error: { code: 'FAILED', message: 'беда' } },
      {},
    ],
  ])('%s', (sentence, task, facts) => {
    expect(said(task, facts).why).toContain(sentence)
  })
})

describe('what to type next', () => {
  test.each<[string, Partial<TaskDetail>, Partial<TaskFacts>]>([
    [`foothold tasks watch ${ID}`, {}, {}],
    ['foothold worker <module with support@3>', {}, { liveWorkers: 0 }],
    [`foothold tasks resume ${ID}`, { status: 'dead_letter', lastReason: 'step_failed' }, {}],
    [`foothold tasks cancel ${ID}`, { status: 'dead_letter', lastReason: 'input_invalid' }, {}],
    [
      `foothold tasks restart ${ID} --from 'второй шаг'`,
      {
        status: 'dead_letter',
        lastReason: 'code_changed',
        steps: [stepOf('первый'), stepOf('второй шаг', { status: 'failed' })],
      },
      {},
    ],
    [
      `foothold decide ${ID} 'it'\\''s' --done '<what it returned, as JSON>' --by <you>`,
      { status: 'waiting', waitingFor: 'person', steps: [stepOf("it's", { kind: 'effect', status: 'unknown' })] },
      {},
    ],
  ])('%s', (command, task, facts) => {
    expect(said(task, facts).next[0]).toBe(command)
  })
})

describe('what runs again', () => {
  const steps = [
    stepOf('поиск'),
    stepOf('возврат', { kind: 'effect', status: 'intent', finishedAt: null }),
    stepOf('отправка', { kind: 'effect', status: 'failed' }),
    stepOf('вопрос', { kind: 'effect', status: 'unknown' }),
    stepOf('ответ', { status: 'failed', tries: 5 }),
    stepOf('пауза', { kind: 'sleep', status: 'waiting', finishedAt: null }),
    stepOf('', { kind: 'run', status: 'failed' }),
  ]
  const begun = [
    { key: 'ответ', isInThisAttempt: false, at: ago(5) },
    { key: 'письмо', isInThisAttempt: false, at: ago(5) },
  ]
  const finals = ['ответ', 'отправка'].map((key) => {
    return { key, isRetryable: false, refusals: 0, dueAt: null, doubtUntil: null, onDoubt: null, keyUntil: null }
  })
  const doing = ({ repeats }: Explanation): string[] =>
    repeats.map(({ step, because, does }) => `${step} ${because} ${does}`)

  test('a resume repeats what failed, is in doubt or unfinished, never what is stored, and never the code between', () => {
    const dead = said({ status: 'dead_letter', lastReason: 'step_failed', steps }, { begun, steps: finals })

    expect(doing(dead)).toEqual([
      'возврат doubt settle',
      'отправка failed send',
      'ответ failed run',
      'письмо unfinished run',
    ])
    expect(dead).toMatchObject({
      goesOn: 'by_resume',
      stored: ['поиск'],
      leftInDoubt: [{ step: 'вопрос', does: 'ask' }],
    })
  })

  test('while it lives, a step that failed for good is not tried again', () => {
    expect(doing(said({ steps }, { begun, steps: finals }))).toEqual(['возврат doubt settle', 'письмо unfinished run'])
  })

  test.each<[string, Partial<TaskDetail>, Partial<TaskFacts>]>([
    ['an input that does not fit', { lastReason: 'input_invalid' }, {}],
    [
      "a producer's deadline that has passed",
      { lastReason: 'deadline', deadlineAt: ago(1) },
      { isDeadlineFixed: true },
    ],
  ])('%s is resumed in vain: nothing of it runs', (_, task, facts) => {
    const dead = said({ status: 'dead_letter', steps, ...task }, { begun, ...facts })

    expect(dead).toMatchObject({ goesOn: 'in_vain', repeats: [], next: [`foothold tasks cancel ${ID}`] })
  })

  test('a step that the code refuses is refused again; what lies before it and had failed is tried', () => {
    const [before, refused, after] = [
      stepOf('раньше', { status: 'failed', startedAt: ago(90) }),
      stepOf('отказ', { status: 'failed', startedAt: ago(60) }),
      stepOf('позже', { status: 'failed', startedAt: ago(30) }),
    ]
    const task = { status: 'dead_letter', lastReason: 'code_changed', steps: [before, refused, after] } as const
    const dead = said(task, { failedStep: 'отказ', begun })

    expect(dead.goesOn).toBe('in_vain')
    expect(doing(dead)).toEqual(['раньше failed run'])
  })

  test('what has ended repeats nothing', () => {
    expect(wayOnText(said({ status: 'completed', steps }))).toBe('it has ended')
  })
})

describe('was it the release', () => {
  const failure = (attempt: number): AttemptView => ({
    attempt,
    workerId: 'w',
    startedAt: ago(60),
    endedAt: ago(50),
    outcome: 'waiting',
    reason: 'step_failed',
    detail: null,
  })
  const firstSeen = [
    { release: 'r1', at: ago(9_000) },
    { release: 'r2', at: ago(300) },
  ]
  const verdict = (releases: Partial<TaskFacts['releases']>, attempts = [failure(1)]): Explanation['release'] =>
    said(
      { status: 'dead_letter', lastReason: 'step_failed', attempts },
      { releases: { ofAttempts: [{ attempt: 1, release: 'r2' }], firstSeen, successes: [], ...releases } },
    ).release

  test('perhaps, when it is newer than the last success and has had none itself', () => {
    expect(verdict({ successes: [{ release: 'r1', lastAt: ago(400) }] })).toEqual({
      kind: 'perhaps',
      release: 'r2',
      since: ago(300),
      before: { release: 'r1', lastSuccessAt: ago(400) },
    })
  })

  test('hardly, when it has completed other tasks', () => {
    const successes = [
      { release: 'r1', lastAt: ago(400) },
      { release: 'r2', lastAt: ago(20) },
    ]

    expect(verdict({ successes })).toMatchObject({ kind: 'unlikely', lastSuccessAt: ago(20) })
  })

  test('hardly, when the task had failed under an older one already', () => {
    const ofAttempts = [
      { attempt: 1, release: 'r1' },
      { attempt: 2, release: 'r2' },
    ]

    expect(verdict({ ofAttempts }, [failure(1), failure(2)])).toMatchObject({ kind: 'unlikely', also: 'r1' })
  })

  test('unknown, without a label or without anything to compare with', () => {
    expect(verdict({})).toEqual({ kind: 'unknown', release: 'r2' })
    expect(verdict({ ofAttempts: [{ attempt: 1, release: 'unlabelled' }] })).toEqual({ kind: 'unknown', release: null })
    expect(verdict({}, [])).toEqual({ kind: 'no_failure' })
  })
})

test('a task with a long history is told in about ten lines, the newest attempts shown', () => {
  const attempts = Array.from({ length: 12 }, (_, index) => ({
    attempt: index + 1,
    workerId: 'w:1:1:a',
    startedAt: ago(200 - index * 10),
    endedAt: ago(195 - index * 10),
    outcome: 'handed_over' as const,
    reason: 'graceful_shutdown',
    detail: null,
  }))

  const fields = explanationFields(said({ attempt: 12, handoverCount: 12, attempts }))

  expect(fields).toHaveLength(11)
  expect(fields[1]).toEqual(['stands', 'pending since 2026-12-02T05:58:35.000Z (1 min ago)'])
  expect(fields[3]).toEqual(['budgets', 'errors 0, crashes 0/3, deploys 12'])
  expect(fields[5]?.[1]).toBe('8  handed_over (graceful_shutdown) after 5 s by w:1:1:a  (7 earlier ones not shown)')
  expect(fields[9]?.[1]).toContain('12  handed_over')
})
