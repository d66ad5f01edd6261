import { expect, test } from 'vitest'
import type { TaskEvent } from '../protocol/views.ts'
import { createWatchView, type LookedChunk, type LookedStep, type LookedTask, type Try } from './watch-events.ts'

let nextId = 100

function chunk(key: string, attempt: number, tries: number, text: string): LookedChunk {
  nextId += 1
  return { id: String(nextId), key, attempt, tries, isStart: false, channel: 'text', chunk: JSON.stringify(text) }
}

function start(key: string, attempt: number, tries: number): LookedChunk {
  return { ...chunk(key, attempt, tries, ''), isStart: true, channel: '$started' }
}

function step(key: string, status: LookedStep['status'], attempt: number, tries: number): LookedStep {
  return { key, status, attempt, tries, error: null }
}

function looked(part: Partial<LookedTask>): LookedTask {
  return {
    status: 'processing',
    reason: null,
    attempt: 1,
    workerId: 'w',
    steps: [],
    chunks: [],
    isMore: false,
    ...part,
  }
}

/** Short words for events: `chunk a привет`. */
function told(events: readonly TaskEvent[]): string[] {
  return events.map((event) => {
    switch (event.type) {
      case 'status':
        return `status ${event.status}`
      case 'step':
        return `step ${event.key} ${event.status} ${event.attempt}/${event.tries}`
      case 'superseded':
        return `superseded ${event.key}`
      case 'chunk':
        return `chunk ${event.key} ${event.text}`
    }
  })
}

test('what did not change is not told again', () => {
  const view = createWatchView()
  const task = looked({ steps: [step('plan', 'completed', 1, 1)] })

  expect(told(view.next(task).events)).toEqual(['status processing', 'step plan completed 1/1'])
  expect(view.next(task)).toEqual({ events: [], isEnded: false })
})

test('a terminal status comes last, after every chunk, and ends the watch', () => {
  const view = createWatchView()
  const first = looked({
    status: 'completed',
    steps: [step('say', 'completed', 1, 1)],
    chunks: [chunk('say', 1, 1, 'при')],
    isMore: true,
  })
  expect(told(view.next(first).events)).toEqual(['step say completed 1/1', 'chunk say при'])

  const last = view.next({ ...first, chunks: [chunk('say', 1, 1, 'вет')], isMore: false })

  expect(told(last.events)).toEqual(['chunk say вет', 'status completed'])
  expect(last.isEnded).toBe(true)
})

test('a later try voids the chunks of the earlier one, once, and what still comes of the earlier one is not shown', () => {
  const view = createWatchView()
  view.next(looked({ chunks: [start('say', 1, 1), chunk('say', 1, 1, 'ста')] }))

  const { events } = view.next(
    looked({
      steps: [step('say', 'failed', 1, 1)],
      chunks: [start('say', 1, 2), chunk('say', 1, 1, 'рый'), chunk('say', 1, 2, 'но'), chunk('say', 1, 2, 'вый')],
    }),
  )

  expect(told(events)).toEqual([
    'step say failed 1/1',
    'superseded say',
    'step say running 1/2',
    'chunk say но',
    'chunk say вый',
  ])
})

test('a later attempt voids the chunks of the earlier one though its tries begin anew', () => {
  const view = createWatchView()
  view.next(looked({ chunks: [chunk('say', 1, 3, 'старый')] }))

  const { events } = view.next(looked({ attempt: 2, chunks: [chunk('say', 2, 1, 'новый')] }))

  expect(told(events)).toEqual(['status processing', 'superseded say', 'chunk say новый'])
})

test('whoever goes on from the cursor of `superseded` gets the first chunk of the new try', () => {
  const view = createWatchView(new Map<string, Try>([['say', { attempt: 1, tries: 1, hasChunks: true }]]))
  const fresh = chunk('say', 2, 1, 'новый')

  const superseded = view.next(looked({ attempt: 2, chunks: [fresh] })).events.find((e) => e.type === 'superseded')

  expect(BigInt(superseded?.cursor ?? 0)).toBe(BigInt(fresh.id) - 1n)
})

test('other steps are not voided by the try of one', () => {
  const view = createWatchView()
  view.next(looked({ chunks: [chunk('a', 1, 1, 'а'), chunk('b', 1, 1, 'б')] }))

  const { events } = view.next(looked({ chunks: [chunk('b', 1, 2, 'в'), chunk('a', 1, 1, 'г')] }))

  expect(told(events)).toEqual(['superseded b', 'chunk b в', 'chunk a г'])
})

test('a begun try is running only in the present attempt and while it has left no result', () => {
  const view = createWatchView()
  const starts = [
    start('old', 1, 1),
    start('done', 2, 1),
    start('failed', 2, 1),
    start('again', 2, 2),
    start('now', 2, 1),
  ]

  const { events } = view.next(
    looked({
      attempt: 2,
      steps: [step('done', 'completed', 2, 1), step('failed', 'failed', 2, 1), step('again', 'failed', 2, 1)],
      chunks: starts,
    }),
  )

  expect(told(events).filter((text) => text.includes('running'))).toEqual([
    'step again running 2/2',
    'step now running 2/1',
  ])
})

test('a watch that goes on from a cursor is told what is running, though it began before the cursor', () => {
  const view = createWatchView(new Map<string, Try>([['say', { attempt: 1, tries: 1, hasChunks: true }]]))

  const { events } = view.next(looked({ chunks: [chunk('say', 1, 1, 'дальше')] }))

  expect(told(events)).toEqual(['status processing', 'step say running 1/1', 'chunk say дальше'])
})
