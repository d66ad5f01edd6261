import { expect, test } from 'vitest'
import { connect } from '../../src/index.ts'
import { startSilentDatabase } from './silent-database.ts'
import { setup } from './world.ts'

test.for([
  ['with migrations', true],
  ['without', false],
] as const)(
  'whoever waits for a database that does not answer can be told to stop, %s, and gets the reason of that',
  { timeout: 10_000 },
  async ([, migrate]) => {
    const database = await startSilentDatabase()
    const stop = new AbortController()
    const connecting = connect(database.url, { logger: 'silent', migrate, signal: stop.signal })
    const outcome = connecting.catch((error: unknown) => error)
    await database.asked

    const toldAt = performance.now()
    stop.abort(new Error('выключаемся'))

    expect(await outcome).toMatchObject({ message: 'выключаемся' })
    expect(performance.now() - toldAt).toBeLessThan(1_000)
  },
)

test('told to stop, connect leaves no connection behind that would keep the process', { timeout: 10_000 }, async () => {
  const database = await startSilentDatabase()
  const stop = new AbortController()
  const connecting = connect(database.url, { logger: 'silent', signal: stop.signal })
  await database.asked

  stop.abort()

  await expect(connecting).rejects.toMatchObject({ name: 'AbortError' })
  await database.left
})

test('told to stop while nobody listens at all, connect stops between two tries; told before, it does not try', async () => {
  const stop = new AbortController()
  const lines: string[] = []
  const note = (_fields: object, message: string): void => {
    lines.push(message)
    stop.abort(new Error('выключаемся'))
  }
  const logger = { debug: note, info: note, warn: note, error: note }
  const nobody = 'postgres://u@127.0.0.1:1/x'

  await expect(connect(nobody, { logger, signal: stop.signal })).rejects.toThrow('выключаемся')
  await expect(connect(nobody, { logger, signal: stop.signal })).rejects.toThrow('выключаемся')

  expect(lines).toEqual([expect.stringContaining('ECONNREFUSED')])
})

test('the signal of connect has no meaning once connected', async () => {
  const { url } = await setup()
  const stop = new AbortController()
  const foothold = await connect(url, { logger: 'silent', signal: stop.signal })

  stop.abort()

  await foothold.ready()
  await foothold.close()
})
