import { request } from 'node:http'
import { expect, test } from 'vitest'
import { agentOf, gate, setup, until } from './world.ts'

const quick = agentOf(async () => 1, { name: 'quick' })

interface Answer {
  readonly status: number
  readonly text: string
  readonly type: string | undefined
}

function get(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { headers, method, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text, type: response.headers['content-type'] }),
      )
    })
    asking.on('error', reject).end()
  })
}

function portIn(log: readonly { message: string; fields: Record<string, unknown> }[]): string {
  return String(log.find(({ message }) => message === 'operations port listens')?.fields['url'])
}

test('a worker answers probes and shows its metrics on a port of its own, until it has stopped', async () => {
  const { worker, foothold, log } = await setup()
  const started = gate()
  const finish = gate()
  const slow = agentOf((task) => task.step('slow', async () => (started.open(), await finish.opened)), { name: 'slow' })
  const running = await worker([slow], { operations: { port: 0 } })
  const url = portIn(log)
  await until('it is ready', async () => (await get(`${url}/readyz`)).status === 200)
  await foothold.submit(slow, null)
  await started.opened

  const metrics = await get(`${url}/metrics`)
  const drained = running.drain()
  const [ready, health] = [await get(`${url}/readyz`), await get(`${url}/healthz`)]
  finish.open()
  await drained

  expect(metrics).toMatchObject({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' })
  expect(metrics.text).toContain('foothold_worker_slots_in_use 1\n')
  expect(ready).toMatchObject({ status: 503, text: 'the worker is draining\n' })
  expect(health.status).toBe(200)
  await expect(get(`${url}/healthz`)).rejects.toThrow(/ECONNREFUSED/)
})

test('other machines see the probes alone, unless they bear the token', async () => {
  const { worker, log } = await setup()
  await worker([quick], {
    operations: { port: 0, host: '0.0.0.0', token: 'secret-of-this-test' },
  })
  const url = portIn(log)

  const statuses = async (path: string): Promise<readonly number[]> => [
    (await get(`${url}${path}`)).status,
    (await get(`${url}${path}`, { authorization: 'Bearer wrong' })).status,
    (await get(`${url}${path}`, { authorization: 'Bearer secret-of-this-test' })).status,
  ]

  expect(await statuses('/metrics')).toEqual([401, 401, 200])
  expect(await statuses('/healthz')).toEqual([200, 200, 200])
  expect((await get(`${url}/v1/tasks`)).status).toBe(404)
  expect((await get(`${url}/metrics`, {}, 'POST')).status).toBe(405)
})

test('without a token a page under a rebound name reads nothing', async () => {
  const { worker, log } = await setup()
  await worker([quick], { operations: { port: 0 } })
  const url = portIn(log)

  expect((await get(`${url}/metrics`, { host: 'evil.example' })).status).toBe(403)
  expect((await get(`${url}/metrics`, { host: 'localhost:9464' })).status).toBe(200)
})

test.each([
  [{ port: 9464, host: '0.0.0.0' }, /operations\.host.*no token is set/],
  [{ port: 9464, host: '10.0.0.7', token: '' }, /operations\.token.*empty/],
  [{ port: 70_000 }, /operations\.port.*70000/],
])('%j is refused before anything is opened', async (operations, complaint) => {
  const { foothold } = await setup()

  expect(() => foothold.worker({ agents: [quick], operations })).toThrow(complaint)
})

test('a port that is taken is said at the start, and no worker is registered', async () => {
  const { foothold, worker, log } = await setup()
  const first = await worker([quick], { operations: { port: 0 } })
  const port = Number(new URL(portIn(log)).port)

  const second = foothold.worker({ agents: [quick], operations: { port } })

  await expect(second.start()).rejects.toThrow(/operations\.port.*is taken by another process/)
  expect((await foothold.workers()).map(({ id }) => id)).toEqual([first.id])
})
