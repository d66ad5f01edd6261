import { expect, test } from 'vitest'
import type { Database } from './database.ts'
import { createNotifier } from './notify.ts'

/** Announcements in order, and a way to wait for the next one. */
function setup() {
  const announced: string[][] = []
  let noticed = (): void => {}
  const db: Database = {
    run(_text, values) {
      announced.push(values[0] as string[])
      noticed()
      return Promise.resolve([])
    },
    checkOut: () => Promise.reject(new Error('not used')),
    close: () => Promise.resolve(),
  }
  const until = async (count: number): Promise<void> => {
    while (announced.length < count) {
      await new Promise<void>((resolve) => {
        noticed = resolve
      })
    }
  }
  return { notifier: createNotifier(db), db, announced, until }
}

test('a burst for one handler is announced at once and once more at its end, other handlers at once', async () => {
  const { notifier, announced, until } = setup()
  // The notifier's own timers do not keep a process alive; the test must.
  const alive = setTimeout(() => {}, 10_000)

  for (let n = 0; n < 40; n += 1) notifier.notify('support@3')
  notifier.notify('other@1')
  expect(announced).toEqual([['support@3'], ['other@1']])

  await until(3)
  expect(announced).toEqual([['support@3'], ['other@1'], ['support@3']])
  notifier.close()
  clearTimeout(alive)
})

test('a closed notifier announces nothing any more', () => {
  const { notifier, announced } = setup()
  notifier.close()
  notifier.close()

  notifier.notify('support@3')

  expect(announced).toEqual([])
})

test('an announcement that fails is noted and breaks nothing', async () => {
  const { db } = setup()
  const told = new Promise<object>((resolve) => {
    const failing: Database = { ...db, run: () => Promise.reject(new Error('нет связи')) }
    createNotifier(failing, { debug: (fields) => resolve(fields) }).notify('support@3')
  })

  expect(await told).toMatchObject({ handler: 'support@3', error: { message: 'нет связи' } })
})
