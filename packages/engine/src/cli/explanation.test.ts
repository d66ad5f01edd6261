import { describe, expect, test } from 'vitest'
import type { TaskId } from '../protocol/task-context.ts'
import type { StepView, TaskDetail } from '../protocol/views.ts'
import type { WhyFacts } from '../store/why.ts'
import { type Explanation, explain } from './explanation.ts'
import { explanationLines } from './explanation-lines.ts'
import { createOutput } from './output.ts'

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
  steps: [],
  attempts: [],
}

const FACTS: WhyFacts = {
  crashesMax: 3,
  crashesTotal: 0,
  isSuspect: false,
  handler: 'support@3',
  cancelReason: null,
  claimedAt: null,
  runAt: ago(600),
  worker: null,
  liveWorkers: 2,
  freeSlots: 5,
  liveWorkersInAll: 4,
  tasksBefore: 0,
  unconsumedSignals: [],
  steps: [],
  begun: [],
}

function stepOf(key: string, more: Partial<StepView> = {}): StepView {
  const rest = { version: 1, tries: 1, attempt: 1, workerId: 'w', output: null, error: null, usage: null }
  return { key, kind: 'step', status: 'completed', startedAt: ago(300), finishedAt: ago(299), ...rest, ...more }
}

function said(task: Partial<TaskDetail>, facts: Partial<WhyFacts> = {}): Explanation {
  return explain({ ...TASK, ...task }, { ...FACTS, ...facts }, NOW)
}

const LIVE = { status: 'active', lastHeartbeatAt: ago(2), isLeaseGood: true }

describe('why a task stands where it stands', () => {
  test.each<[string, Partial<TaskDetail>, Partial<WhyFacts>]>([
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
      { worker: LIVE, begun: ['ответ'] },
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
  test.each<[string, Partial<TaskDetail>, Partial<WhyFacts>]>([
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

test('what the next attempt repeats: failed and unfinished steps, and effects in doubt; never what is stored', () => {
  const steps = [
    stepOf('поиск'),
    stepOf('возврат', { kind: 'effect', status: 'intent', finishedAt: null }),
    stepOf('ответ', { status: 'failed', tries: 5 }),
    stepOf('пауза', { kind: 'sleep', status: 'waiting', finishedAt: null }),
  ]

  const { stored, repeats } = said(
    { status: 'processing', workerId: 'w', steps },
    { worker: LIVE, begun: ['ответ', 'письмо'] },
  )

  expect(stored).toEqual(['поиск'])
  expect(repeats.map(({ step, because }) => `${step} ${because}`)).toEqual([
    'возврат doubt',
    'ответ failed',
    'письмо unfinished',
  ])
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
  const out = createOutput({ stdout: { write: () => true }, stderr: { write: () => true } }, {})

  const lines = explanationLines(said({ attempt: 12, handoverCount: 12, attempts }), NOW, out)

  expect(lines).toHaveLength(12)
  expect(lines[1]).toBe('stands    pending since 2026-12-02T05:58:35.000Z (1 min ago)')
  expect(lines[3]).toBe('budgets   errors 0, crashes 0/3, deploys 12')
  expect(lines[6]).toBe('attempts  8  handed_over (graceful_shutdown) after 5 s by w:1:1:a  (7 earlier ones not shown)')
  expect(lines[10]).toContain('12  handed_over')
})
