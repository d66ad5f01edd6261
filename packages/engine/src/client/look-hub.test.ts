import { expect, test } from 'vitest'
import { createLookHub } from './look-hub.ts'

/** A hub whose looks wait until they are answered, so that a test decides what overlaps. */
function setup() {
  const looks: { requests: readonly string[]; answer(): void; fail(error: Error): void }[] = []
  let noticed = (): void => {}
  const hub = createLookHub<string, string>(
    (requests) =>
      new Promise((resolve, reject) => {
        looks.push({
          requests,
          answer: () => resolve(requests.map((request) => request.toUpperCase())),
          fail: reject,
        })
        noticed()
      }),
  )
  const nextLook = async (): Promise<(typeof looks)[0]> => {
    while (looks.length === 0) {
      await new Promise<void>((resolve) => {
        noticed = resolve
      })
    }
    return looks.shift() as (typeof looks)[0]
  }
  return { hub, looks, nextLook }
}

test('who is due at about the same time shares a look, and each gets its own answer', async () => {
  const { hub, nextLook } = setup()
  const answers = Promise.all([hub.ask('а', 0), hub.ask('б', 5), hub.ask('а', 0)])

  const look = await nextLook()
  look.answer()

  expect(look.requests).toEqual(['а', 'б', 'а'])
  expect(await answers).toEqual(['А', 'Б', 'А'])
})

test('an earlier asker is not kept waiting by a later one', async () => {
  const { hub, nextLook } = setup()
  const late = hub.ask('поздно', 60_000)
  const soon = hub.ask('скоро', 0)
  const look = await nextLook()
  look.answer()

  expect(look.requests).toEqual(['скоро'])
  expect(await soon).toBe('СКОРО')
  hub.close()
  await expect(late).rejects.toMatchObject({ code: 'CLOSED' })
})

test('looks do not overlap: who comes during one is in the next', async () => {
  const { hub, looks, nextLook } = setup()
  const first = hub.ask('а', 0)
  const running = await nextLook()
  const second = hub.ask('б', 0)
  await new Promise((resolve) => setImmediate(resolve))
  expect(looks).toEqual([])

  running.answer()
  expect(await first).toBe('А')
  const next = await nextLook()
  next.answer()

  expect(await second).toBe('Б')
})

test('a failed look fails those who were in it, and the next one goes on', async () => {
  const { hub, nextLook } = setup()
  const first = hub.ask('а', 0)
  const failing = await nextLook()
  failing.fail(new Error('нет связи'))
  await expect(first).rejects.toThrow('нет связи')

  const second = hub.ask('б', 0)
  const look = await nextLook()
  look.answer()

  expect(await second).toBe('Б')
})

test('who leaves by its signal is not asked for, and the others stay', async () => {
  const { hub, nextLook } = setup()
  const controller = new AbortController()
  const leaving = hub.ask('а', 20, controller.signal)
  const staying = hub.ask('б', 20)
  controller.abort(new Error('ушёл'))
  await expect(leaving).rejects.toThrow('ушёл')

  const look = await nextLook()
  look.answer()

  expect(look.requests).toEqual(['б'])
  expect(await staying).toBe('Б')
})

test('a closed hub answers nobody any more', async () => {
  const { hub, nextLook } = setup()
  const first = hub.ask('а', 0)
  await nextLook()
  hub.close()
  hub.close()

  await expect(first).rejects.toMatchObject({ code: 'CLOSED' })
  await expect(hub.ask('б', 0)).rejects.toMatchObject({ code: 'CLOSED' })
})
