import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createTestDatabase } from 'foothold/testing'
import { expect, inject, onTestFinished, test } from 'vitest'

test.for(['hono', 'express'])(
  'a worker mounted in a %s server runs its tasks, and on SIGTERM both end in order',
  async (name) => {
    const database = await createTestDatabase(inject('postgresUrl'))
    const entry = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
    const child = spawn(process.execPath, ['--conditions=@foothold/source', '--import', 'tsx', entry], {
      env: { ...process.env, DATABASE_URL: database.url, PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const exited = once(child, 'exit')
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await exited
      await database.drop()
    })
    let log = ''
    child.stderr.on('data', (data) => {
      log += String(data)
    })
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const url = /http:\S+/.exec(String(line))?.[0]

    const submit = async (): Promise<string> => {
      const answer = await fetch(`${url}/greetings`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'Анна' }),
      })
      expect(answer.status).toBe(202)
      return ((await answer.json()) as { id: string }).id
    }
    const id = await submit()
    await expect
      .poll(async () => (await fetch(`${url}/greetings/${id}`)).json(), { timeout: 15_000 })
      .toEqual({ status: 'completed', output: 'Здравствуйте, Анна!' })

    await submit()
    child.kill('SIGTERM')

    expect(await exited).toEqual([0, null])
    expect(log).toContain('worker stopped')
  },
)
