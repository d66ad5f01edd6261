import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { connect } from 'foothold'
import { createTestDatabase } from 'foothold/testing'
import { expect, inject, onTestFinished, test } from 'vitest'

test('the first example answers its request, and ends with 0 on SIGTERM', { timeout: 60_000 }, async () => {
  const database = await createTestDatabase(inject('postgresUrl'))
  onTestFinished(() => database.drop())
  const foothold = await connect(database.url, { logger: 'silent' })
  onTestFinished(() => foothold.close())
  const child = spawn(process.execPath, ['--conditions=@foothold/source', '--import', 'tsx', 'first.ts'], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    env: { ...process.env, DATABASE_URL: database.url, NODE_OPTIONS: '' },
    stdio: 'ignore',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit')

  await expect
    .poll(async () => (await foothold.tasks()).items.map(({ status }) => status), { timeout: 30_000 })
    .toEqual(['completed'])
  const [task] = (await foothold.tasks()).items
  child.kill('SIGTERM')

  expect(await exited).toEqual([0, null])
  expect(await foothold.handle(task?.id as never).result()).toContain('Обращение № 7001')
})
