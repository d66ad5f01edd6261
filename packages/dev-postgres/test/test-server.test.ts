import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { query, start, startProgram } from './world.ts'

vi.setConfig({ testTimeout: 90_000 })

test('a test server leaves nothing behind when it is stopped', async () => {
  const { server } = await start({ purpose: 'test' })
  expect(existsSync(server.dataDir)).toBe(true)
  expect(await query(server.url, `select current_setting('max_connections')::int as n`)).toEqual([{ n: 300 }])

  await server.stop()
  await server.stop()

  expect(existsSync(server.dataDir)).toBe(false)
  await expect(server.start()).rejects.toMatchObject({ code: 'DATA_REMOVED' })
})

test.each(['fast', 'immediate'] as const)(
  'an outage by %s shutdown ends on the same port with every committed row',
  async (mode) => {
    const { server } = await start({ purpose: 'test' })
    const { url, pid } = server
    await query(url, `create table note as select 'дома' as text`)

    await server.stop({ mode })
    await expect(query(url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await server.start()
    await server.start()

    expect(server.pid).not.toBe(pid)
    expect(await query(server.url, 'select text from note')).toEqual([{ text: 'дома' }])
    expect(server.url).toBe(url)
    await server.restart({ mode })
    expect(await query(url, 'select text from note')).toEqual([{ text: 'дома' }])
  },
)

test('a test server and its folder go when the program that started it is killed', async () => {
  const program = await startProgram({ purpose: 'test' })
  const ended = once(program.process, 'exit')
  program.process.kill('SIGKILL')
  await ended

  await vi.waitFor(() => expect(existsSync(program.dataDir)).toBe(false), { timeout: 60_000 })
  await expect(query(program.url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})
