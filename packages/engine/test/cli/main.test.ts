import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { connect, signal } from '../../src/index.ts'
import { startSilentDatabase } from '../integration/silent-database.ts'
import { until } from '../integration/world.ts'
import { engineDatabase } from '../test-database.ts'

/** The program as a person starts it. */
interface Program {
  readonly process: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>
}

const folder = fileURLToPath(new URL('.', import.meta.url))
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

function foothold(url: string, ...argv: readonly string[]): Program {
  const args = ['--conditions=@foothold/source', '--import', 'tsx', main, ...argv]
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: url, NODE_OPTIONS: '', NO_COLOR: '', FORCE_COLOR: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = once(child, 'close').then(([code, name]) => ({ code: code as number, signal: name as string }))
  return { process: child, stdout: () => stdout, stderr: () => stderr, ended }
}

test('a worker runs what a module exports and drains on SIGTERM; watching ends with Ctrl-C and leaves the task alone', {
  timeout: 90_000,
}, async () => {
  const database = await engineDatabase()
  onTestFinished(() => database.drop())
  const client = await connect(database.url, { logger: 'silent' })
  onTestFinished(() => client.close())

  const worker = foothold(database.url, 'worker', './agents-child.ts', '--release', 'выпуск-7', '--concurrency', '3')
  await until('the worker is up', async () => (await client.workers())[0]?.status === 'active', 30_000)
  const quick = await client.submit('quick', { вопрос: 'где счёт?' })
  const patient = await client.submit('patient', null)
  expect(await quick.result()).toBe('ответ на: где счёт?')
  expect(await client.workers()).toMatchObject([
    { release: 'выпуск-7', concurrency: 3, handlers: expect.arrayContaining(['quick@1', 'patient@1']) },
  ])

  const watch = foothold(database.url, 'tasks', 'watch', patient.id)
  await until('the watch shows text', () => watch.stdout().includes('Пишу'), 30_000)
  watch.process.kill('SIGINT')
  expect(await watch.ended).toEqual({ code: 130, signal: null })
  expect((await patient.state()).status).toBe('waiting')

  await client.sendSignal(patient.id, signal('consent', z.string()), 'да')
  expect(await patient.result()).toBe('да')
  worker.process.kill('SIGTERM')
  expect(await worker.ended).toEqual({ code: 0, signal: null })
  expect(worker.stdout()).toBe('')
  const said = worker
    .stderr()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { message: string })
  expect(said.map(({ message }) => message)).toEqual(expect.arrayContaining(['worker started', 'worker stopped']))
})

test('a reader that leaves a pipe early, and an address where nobody listens, end in a line and not in a stack', {
  timeout: 60_000,
}, async () => {
  const help = foothold('', '--help')
  help.process.stdout?.destroy()
  const nobody = foothold('postgres://u:тайна@127.0.0.1:1/x', 'tasks', 'list')

  expect(await help.ended).toMatchObject({ code: 0 })
  expect(help.stderr()).toBe('')
  expect(await nobody.ended).toMatchObject({ code: 1 })
  expect(nobody.stderr()).toMatch(
    /^foothold: PostgreSQL did not answer within \d+ ms while connecting\. \(connect ECONNREFUSED 127\.0\.0\.1:1\)\n$/,
  )
})

test('a worker that still waits for its database ends at SIGTERM', { timeout: 60_000 }, async () => {
  const database = await startSilentDatabase()
  const worker = foothold(database.url, 'worker', './agents-child.ts')
  await database.asked

  const toldAt = performance.now()
  worker.process.kill('SIGTERM')

  expect(await worker.ended).toEqual({ code: 143, signal: null })
  expect(performance.now() - toldAt).toBeLessThan(3_000)
})
