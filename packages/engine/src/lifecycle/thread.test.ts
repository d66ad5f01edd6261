import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { startThread } from './thread.ts'

const CLOCK = new URL('./clock.ts', import.meta.url).href

/** TypeScript by its types and by what it imports. */
const SOURCE = `
import { parentPort, workerData } from 'node:worker_threads'
import { monotonicMs } from ${JSON.stringify(CLOCK)}
const greeting: { readonly name: string } = workerData as { name: string }
parentPort?.postMessage({ hello: greeting.name, clock: typeof monotonicMs() })
`
const BUILT = `
import { parentPort, workerData } from 'node:worker_threads'
parentPort.postMessage({ hello: workerData.name, from: 'built code' })
`

async function setup(files: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'нить '))
  for (const [name, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files })) {
    await writeFile(join(folder, name), text)
  }
  onTestFinished(() => rm(folder, { recursive: true }))
  return { urlOf: (name: string) => pathToFileURL(join(folder, name)).href }
}

function firstMessage(thread: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    thread.once('message', resolve)
    thread.once('error', reject)
    thread.once('exit', (code) => reject(new Error(`the thread ended with ${code}`)))
  })
}

test('beside source, a thread runs from its .ts file, with imports of further source', async () => {
  const world = await setup({ 'echo-thread.ts': SOURCE })

  const thread = startThread({ url: world.urlOf('worker.ts'), name: './echo-thread', text: null }, { name: 'Мир' })

  expect(await firstMessage(thread)).toEqual({ hello: 'Мир', clock: 'number' })
  await thread.terminate()
})

test('beside built code, a thread runs from its .js file, and no loader is asked for', async () => {
  const world = await setup({ 'echo-thread.js': BUILT, 'echo-thread.ts': 'throw new Error("the source")' })

  const thread = startThread({ url: world.urlOf('worker.js'), name: './echo-thread', text: null }, { name: 'Мир' })

  expect(await firstMessage(thread)).toEqual({ hello: 'Мир', from: 'built code' })
  await thread.terminate()
})

test('a query in the address of the caller, as test runners add, does not hide the ending', async () => {
  const world = await setup({ 'echo-thread.ts': SOURCE })

  const thread = startThread(
    { url: `${world.urlOf('worker.ts')}?v=1#x`, name: './echo-thread', text: null },
    { name: 'a' },
  )

  expect(await firstMessage(thread)).toMatchObject({ hello: 'a' })
  await thread.terminate()
})

test.each(['worker.ts', 'worker.js'])('a thread whose file is missing says so as its error (%s)', async (caller) => {
  const world = await setup({})

  const thread = startThread({ url: world.urlOf(caller), name: './echo-thread', text: null }, null)

  await expect(firstMessage(thread)).rejects.toThrow(/echo-thread/)
})

const BUNDLED = `
const { parentPort, workerData } = require('node:worker_threads')
parentPort.postMessage({ hello: workerData.name, from: 'text' })
`

test.each([
  ['a bundle in a folder of its own', 'bundle.js'],
  ['CommonJS, where code has no address', undefined],
  ['a bundler that invents addresses', 'webpack-internal:///./bundle.js'],
])('where nothing lies beside the code, the text that was packed with it runs (%s)', async (_, name) => {
  const world = await setup({})
  const url = name?.includes(':') === false ? world.urlOf(name) : name

  const thread = startThread({ url, name: './echo-thread', text: BUNDLED }, { name: 'Мир' })

  expect(await firstMessage(thread)).toEqual({ hello: 'Мир', from: 'text' })
  await thread.terminate()
})

test('a file beside the code comes before the packed text', async () => {
  const world = await setup({ 'echo-thread.js': BUILT })

  const thread = startThread({ url: world.urlOf('worker.js'), name: './echo-thread', text: BUNDLED }, { name: 'a' })

  expect(await firstMessage(thread)).toEqual({ hello: 'a', from: 'built code' })
  await thread.terminate()
})

test('an error at the top of a thread reaches its starter', async () => {
  const world = await setup({ 'echo-thread.ts': 'throw new Error("не вышло" as string)' })

  const thread = startThread({ url: world.urlOf('worker.ts'), name: './echo-thread', text: null }, null)

  await expect(firstMessage(thread)).rejects.toThrow('не вышло')
})

test('it works in a plain process that runs from source, where the loader is set for the main thread only', async () => {
  const world = await setup({ 'echo-thread.ts': SOURCE })
  const main = `
    import { startThread } from ${JSON.stringify(new URL('./thread.ts', import.meta.url).href)}
    const thread = startThread({ url: ${JSON.stringify(world.urlOf('main.ts'))}, name: './echo-thread', text: null }, { name: 'b' })
    thread.once('message', (message) => console.log(JSON.stringify(message)))
  `
  const flags = ['--conditions=@foothold/source', '--import', 'tsx', '--input-type=module', '-e', main]

  const { stdout } = await promisify(execFile)(process.execPath, flags)

  expect(JSON.parse(stdout)).toEqual({ hello: 'b', clock: 'number' })
})

test.each([
  ['given as text', ['--input-type=module', '-e']],
  ['given as a file', []],
])(
  'the limits and names that a process was started with do not keep its threads from starting (%s)',
  async (how, input) => {
    const world = await setup({ 'echo-thread.ts': SOURCE })
    const text = `
    import { startThread } from ${JSON.stringify(new URL('./thread.ts', import.meta.url).href)}
    const thread = startThread({ url: ${JSON.stringify(world.urlOf('main.ts'))}, name: './echo-thread', text: null }, { name: 'c' })
    thread.once('message', (message) => console.log(JSON.stringify(message)))
  `
    const file = await setup({ 'main.ts': text })
    const limits = ['--max-old-space-size=256', '--title=воркер', '--expose-gc']
    const flags = ['--conditions=@foothold/source', '--import', 'tsx', ...limits, ...input]
    const program = how === 'given as text' ? text : fileURLToPath(file.urlOf('main.ts'))

    const { stdout } = await promisify(execFile)(process.execPath, [...flags, program])

    expect(JSON.parse(stdout)).toEqual({ hello: 'c', clock: 'number' })
  },
)
