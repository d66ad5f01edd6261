import { expect, test } from 'vitest'
import { newTaskId, parseTaskId } from './new-id.ts'

test('ids are UUIDs of version 7 that carry the time', () => {
  const now = Date.now() + 60_000
  const id = newTaskId(now)

  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(now)
})

test('ids of one process sort in the order in which they were made, however many in a millisecond, and with a clock set back', () => {
  const now = Date.now() + 120_000
  const ids = Array.from({ length: 20_000 }, (_, index) => newTaskId(index % 7 === 0 ? now - 5 : now))

  expect([...ids].sort()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})

test('an id is read in any case, and nothing else is an id', () => {
  const id = newTaskId()

  expect(parseTaskId(id.toUpperCase())).toBe(id)
  for (const wrong of ['', 'задача', `${id} `, `{${id}}`, id.replaceAll('-', ''), 5, null, undefined, `${id}\u0000`]) {
    expect(parseTaskId(wrong)).toBeNull()
  }
})
