import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startSimulators } from '@foothold/simulators'
import { createTestDatabase, type TestDatabase } from 'foothold/testing'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { closedPort } from './closed-port.ts'

/** The program itself, as `npm start` and `npm run ask` run it, in a folder of its own. */

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url))

let database: TestDatabase
let folder: string
let port: number
const running: Program[] = []

beforeEach(async () => {
  database = await createTestDatabase(inject('postgresUrl'))
  folder = mkdtempSync(join(tmpdir(), 'foothold-start-'))
  // `--import tsx` is looked for from the current folder.
  symlinkSync(MODULES, join(folder, 'node_modules'))
  port = await closedPort()
})
afterEach(async () => {
  for (const program of running.splice(0)) {
    if (program.process.exitCode === null && program.process.signalCode === null) {
      program.process.kill('SIGKILL')
      await once(program.process, 'close')
    }
  }
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

interface Program {
  readonly process: ChildProcess
  readonly lines: string[]
  said(form: RegExp): Promise<RegExpExecArray>
  ended(): Promise<number | null>
}

function program(mode: string, args: readonly string[] = [], environment: Record<string, string> = {}): Program {
  const child = spawn(process.execPath, ['--conditions=@foothold/source', '--import', 'tsx', MAIN, mode, ...args], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: database.url,
      PORT: String(port),
      WORKERS: '1',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const outputs = [child.stdout, child.stderr].map((input) => createInterface({ input }))
  for (const output of outputs) output.on('line', (line) => lines.push(line))
  const closed = once(child, 'close')
  const said = async (form: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      for (const line of lines) {
        const found = form.exec(line)
        if (found !== null) return found
      }
      const isOver = await Promise.race([
        closed.then(() => true),
        ...outputs.map((o) => once(o, 'line').then(() => false)),
      ])
      if (isOver) throw new Error(`${mode} ended without a line like ${form}:\n${lines.join('\n')}`)
    }
  }
  const started = { process: child, lines, said, ended: async () => ((await closed) as [number | null])[0] }
  running.push(started)
  return started
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('start, ask, Ctrl-C: an answer on stdout, everything stopped in order, exit 0', { timeout: 120_000 }, async () => {
  const system = program('start')
  const [, workerPid] = await system.said(/worker-1 +pid (\d+)/)

  const question = program('ask', ['Где мой заказ 5501?'])
  expect(await question.ended()).toBe(0)
  system.process.kill('SIGINT')
  system.process.kill('SIGINT')

  expect(await system.ended()).toBe(0)
  expect(question.lines.join('\n')).toContain('Передан в доставку')
  expect(question.lines.filter((line) => line.startsWith('✓')).map((line) => line.slice(2))).toEqual(
    expect.arrayContaining([
      'retrieve',
      'plan',
      'tool_call:order-5501',
      'tool_call:ticket',
      'generate',
      'verify',
      'store',
      'notify',
    ]),
  )
  expect(system.lines.filter((line) => line.startsWith('stopping'))).toEqual([
    'stopping the server',
    'stopping the workers',
    'stopping the simulators',
  ])
  expect(isAlive(Number(workerPid))).toBe(false)
})

test('a worker that is killed is started again, and a killed supervisor leaves no child behind', {
  timeout: 120_000,
}, async () => {
  const system = program('start')
  const [, firstPid] = await system.said(/worker-1 +pid (\d+)/)
  process.kill(Number(firstPid), 'SIGKILL')
  await system.said(/worker-1 ended \(SIGKILL\)/)
  const started = () => system.lines.filter((line) => line.includes('"worker started"'))
  await expect.poll(() => started().length, { timeout: 60_000 }).toBe(2)
  const pids = started().map((line) => Number(/:(\d+):/.exec((JSON.parse(line) as { worker: string }).worker)?.[1]))

  system.process.kill('SIGKILL')

  await expect.poll(() => pids.filter(isAlive), { timeout: 30_000 }).toEqual([])
  const page = () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      () => 'up',
      () => 'down',
    )
  await expect.poll(page, { timeout: 30_000 }).toBe('down')
})

test('killed between the commit of the CRM and the storing of its answer: another worker finds the ticket and makes no second one', {
  timeout: 180_000,
}, async () => {
  const simulators = await startSimulators({ gigachat: { chunkDelayMs: 0 } })
  try {
    const { gigachat, crm, telegram } = simulators
    const environment = {
      GIGACHAT_CREDENTIALS: gigachat.credentials,
      GIGACHAT_BASE_URL: gigachat.baseUrl,
      GIGACHAT_AUTH_URL: gigachat.authUrl,
      CRM_URL: crm.baseUrl,
      TELEGRAM_API_ROOT: telegram.apiRoot,
      TELEGRAM_BOT_TOKEN: telegram.token,
      TELEGRAM_DEFAULT_CHAT_ID: telegram.defaultChatId,
    }
    await crm.control.gate({ name: 'committed', match: { path: 'crm.item.add' }, point: 'after_commit', times: 1 })
    const victim = program('worker', [], environment)
    await victim.said(/"worker started"/)
    const server = program('server')
    await server.said(/"server listens"/)
    const question = program('ask', ['Где мой заказ 5501?', '--client', '101'])
    await crm.control.waitForGate('committed', { timeoutMs: 60_000 })
    victim.process.kill('SIGKILL')
    await victim.ended()
    await crm.control.openGate('committed')
    program('worker', [], environment)

    expect(await question.ended()).toBe(0)

    const ledger = await crm.control.ledger()
    expect(ledger.committed.filter(({ kind }) => kind === 'crm.item')).toHaveLength(1)
    expect(ledger.received.filter(({ path }) => path.includes('crm.item.add'))).toHaveLength(1)
    const { messages } = (await telegram.control.call('GET', 'messages')) as { messages: unknown[] }
    expect(messages).toHaveLength(1)
    const { committed } = await gigachat.control.ledger()
    expect(committed.filter(({ kind }) => kind === 'completion')).toHaveLength(2)
    server.process.kill('SIGTERM')
    expect(await server.ended()).toBe(0)
  } finally {
    await simulators.close()
  }
})

test('what cannot be is said in one line: a taken port, a wrong variable, no server to ask', {
  timeout: 90_000,
}, async () => {
  const { port: taken } = new URL(inject('postgresUrl'))
  const busy = program('start', [], { PORT: taken })
  const wrong = program('start', [], { WORKERS: 'many' })
  const alone = program('ask', ['Где заказ?'])
  const unset = program('worker')

  expect([await busy.ended(), await wrong.ended(), await alone.ended(), await unset.ended()]).toEqual([1, 1, 3, 1])
  expect(busy.lines).toEqual([
    expect.stringMatching(`PORT ${taken} on 127.0.0.1 is taken: .*PORT=${Number(taken) + 1} npm start`),
  ])
  expect(wrong.lines).toEqual(['WORKERS is "many": use a whole number from 1 to 64.'])
  expect(alone.lines).toEqual([expect.stringContaining('Start it first: npm start')])
  expect(unset.lines).toEqual([
    expect.stringContaining('GIGACHAT_CREDENTIALS, CRM_URL, TELEGRAM_BOT_TOKEN are not set'),
  ])
})

test('a server and a worker that still wait for their database end at SIGTERM, with 0', {
  timeout: 90_000,
}, async () => {
  // Takes connections and never says a word.
  const sockets: Socket[] = []
  const silent = createServer((socket) => void sockets.push(socket.on('error', () => {})))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const environment = {
    DATABASE_URL: `postgres://u@127.0.0.1:${(silent.address() as AddressInfo).port}/x`,
    GIGACHAT_CREDENTIALS: 'a2V5',
    CRM_URL: 'http://127.0.0.1:1/',
    TELEGRAM_BOT_TOKEN: '1:a',
  }
  try {
    for (const mode of ['server', 'worker']) {
      const asked = once(silent, 'connection')
      const waiting = program(mode, [], environment)
      await asked

      const toldAt = performance.now()
      waiting.process.kill('SIGTERM')

      expect([mode, await waiting.ended()]).toEqual([mode, 0])
      expect(performance.now() - toldAt).toBeLessThan(3_000)
    }
  } finally {
    for (const socket of sockets) socket.destroy()
    silent.close()
  }
})
