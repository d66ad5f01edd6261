import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { controlOf, type SimulatorAddresses, startSimulators } from '../src/index.ts'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

function start(args: string[] = []): ChildProcess {
  const child = fork(MAIN, args, {
    execArgv: ['--conditions=@foothold/source', '--import', 'tsx'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  children.push(child)
  return child
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk)
    if (text.includes('\n')) break
  }
  return text
}

test('the process prints one line with all that its users need, and ends with 0 on SIGTERM', async () => {
  const child = start()
  const addresses = JSON.parse(await firstLine(child)) as SimulatorAddresses

  const getMe = await fetch(`${addresses.telegram.apiRoot}/bot${addresses.telegram.token}/getMe`)
  const orders = await fetch(`${addresses.crm.baseUrl}crm.deal.list.json`, { method: 'POST', body: '{}' })
  const token = await fetch(addresses.gigachat.authUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${addresses.gigachat.credentials}`, rquid: crypto.randomUUID() },
    body: new URLSearchParams({ scope: 'GIGACHAT_API_PERS' }),
  })
  await controlOf(addresses.crm.url).gate({ name: 'held' })
  child.kill('SIGTERM')

  expect([getMe.status, orders.status, token.status]).toEqual([200, 200, 200])
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('the process ends when the one that started it is gone', async () => {
  const child = start()
  await firstLine(child)

  child.disconnect()

  expect(await once(child, 'exit')).toEqual([0, null])
})

test('a port that is taken is named, with the cure', async () => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', () => resolve()))
  const { port } = taken.address() as { port: number }
  try {
    const child = start(['--crm-port', String(port)])
    let errors = ''
    child.stderr?.on('data', (chunk) => (errors += String(chunk)))

    expect(await once(child, 'exit')).toEqual([1, null])
    expect(errors).toContain(`CRM simulator cannot listen on 127.0.0.1: port ${port} is taken`)
  } finally {
    taken.close()
  }
})

test('an argument that is no port is refused by its name', async () => {
  const child = start(['--telegram-port', 'eighty'])
  let errors = ''
  child.stderr?.on('data', (chunk) => (errors += String(chunk)))

  expect(await once(child, 'exit')).toEqual([1, null])
  expect(errors).toContain('--telegram-port must be a whole number from 0 to 65535, not "eighty"')
})

test('all three start in this process, on ports of their own, and close together', async () => {
  const simulators = await startSimulators({ gigachat: { chunkDelayMs: 0 } })
  const urls = [simulators.gigachat.url, simulators.crm.url, simulators.telegram.url]

  expect(new Set(urls).size).toBe(3)
  for (const url of urls) expect((await fetch(`${url}/_sim/ledger`)).status).toBe(200)
  await simulators.close()
  for (const url of urls) await expect(fetch(`${url}/_sim/ledger`)).rejects.toThrow('fetch failed')
})
