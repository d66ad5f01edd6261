import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTestDatabase } from 'foothold/testing'
import { expect, inject, onTestFinished, test } from 'vitest'
import { complaintOf } from '../../src/cli/complaint.ts'
import { MissingPackageError, optionalPackage } from '../../src/cli/optional-package.ts'

/** The commands that stay: each as a process of its own, told to end by a signal. */

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const PATIENCE_MS = 60_000

test('a command whose package is not installed names the package and how to get it', async () => {
  const missing = await optionalPackage('@foothold/absent', { cwd: '/', command: 'server' }).catch((error) => error)

  expect(missing).toBeInstanceOf(MissingPackageError)
  expect(complaintOf(missing)).toEqual({
    code: 'PACKAGE_MISSING',
    message: 'foothold server needs the package @foothold/absent, which is not installed here.',
    cure: 'Run: npm install --save-dev @foothold/absent',
  })
})

test('foothold server serves until SIGTERM, and ends with 0', { timeout: 2 * PATIENCE_MS }, async () => {
  const { says, child, exited } = await start(process.cwd(), ['server', '--port', '0'])
  const [, url = ''] = await says(/The page and the API: (\S+)\//)

  const ready = await fetch(`${url}/readyz`)
  child.kill('SIGTERM')

  expect(ready.status).toBe(200)
  expect(await exited).toBe(0)
})

test('foothold dev runs a module with the page, and again when the module changes', {
  timeout: 3 * PATIENCE_MS,
}, async () => {
  // Inside the repository, so that the module finds this library.
  const folder = mkdtempSync(join(fileURLToPath(new URL('.', import.meta.url)), 'dev-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const moduleSaying = (greeting: string): void =>
    writeFileSync(
      join(folder, 'agents.mjs'),
      `import { agent } from 'foothold'
       const input = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }
       export const hello = agent({ name: 'hello', input, run: (task) => task.step('greet', () => '${greeting}') })`,
    )
  moduleSaying('раз')
  const { says, child, exited, log } = await start(folder, ['dev', './agents.mjs', '--port', '0'])
  const [, url = ''] = await says(/page, API +(\S+)\//)
  await says(/worker started/)

  const first = await answerOf(url)
  moduleSaying('два')
  await says(/Restarting[^]*worker started/)
  const second = await answerOf(url)
  child.kill('SIGTERM')

  expect([first, second]).toEqual(['раз', 'два'])
  expect(await exited).toBe(0)
  expect(log()).toMatch(/worker stopped/)
})

interface Started {
  readonly child: ChildProcess
  /** Resolves when what it has written so far matches. */
  readonly says: (form: RegExp) => Promise<RegExpExecArray>
  readonly log: () => string
  readonly exited: Promise<number | null>
}

async function start(cwd: string, argv: readonly string[]): Promise<Started> {
  const database = await createTestDatabase(inject('postgresUrl'))
  const node = ['--conditions=@foothold/source', '--import', import.meta.resolve('tsx'), MAIN]
  const env = { PATH: process.env['PATH'], DATABASE_URL: database.url }
  const child = spawn(process.execPath, [...node, ...argv], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', resolve)
  })
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await exited
    await database.drop()
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => {
      text += String(data)
    })
  }
  const says = async (form: RegExp): Promise<RegExpExecArray> => {
    const endsAtMs = Date.now() + PATIENCE_MS
    for (;;) {
      const found = form.exec(text)
      if (found !== null) return found
      if (Date.now() > endsAtMs) throw new Error(`never said ${String(form)}:\n${text}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  return { child, says, log: () => text, exited }
}

async function answerOf(url: string): Promise<unknown> {
  const submitted = await fetch(`${url}/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'hello', input: {} }),
  })
  const { id } = (await submitted.json()) as { readonly id: string }
  const endsAtMs = Date.now() + PATIENCE_MS
  for (;;) {
    const task = (await (await fetch(`${url}/v1/tasks/${id}`)).json()) as {
      readonly status: string
      readonly output: unknown
    }
    if (task.status === 'completed') return task.output
    if (Date.now() > endsAtMs) throw new Error(`the task is ${task.status}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
