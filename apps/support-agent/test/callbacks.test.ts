import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { callbacks } from '../src/integrations/callbacks.ts'
import type { CallbackBody } from '../src/ports.ts'
import { addressProblem, replyToProblem } from '../src/reply-address.ts'

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
})

async function receiver(status: number, headers: Record<string, string> = {}, isEndless = false) {
  const received: Received[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      received.push({ headers: request.headers, body })
      response.writeHead(status, headers)
      if (isEndless) response.write('без конца')
      else response.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push(server)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ответ`, received }
}

const BODY: CallbackBody = {
  taskId: 't',
  clientId: '101',
  outcome: 'answered',
  language: 'ru',
  text: 'Ваш заказ в пути',
}
const { signal } = new AbortController()
const open = callbacks('public_and_loopback')

test('a reply arrives once, as JSON, with its idempotency key', async () => {
  const { url, received } = await receiver(204)

  expect(await open.post(url, BODY, 'key-1', signal)).toEqual({ status: 204 })

  expect(received.map(({ body }) => JSON.parse(body))).toEqual([BODY])
  expect(received[0]?.headers).toMatchObject({
    'idempotency-key': 'key-1',
    'content-type': 'application/json; charset=utf-8',
  })
})

test('a receiver whose answer has no end does not hold the step', async () => {
  const { url } = await receiver(200, {}, true)

  expect(await open.post(url, BODY, 'key', signal)).toEqual({ status: 200 })
})

describe('what the receiver answers decides what happens next', () => {
  test.each([
    [404, {}, 'TerminalError', 'reply_rejected'],
    [302, { location: 'http://169.254.169.254/latest/meta-data/' }, 'TerminalError', 'reply_rejected'],
    [429, { 'retry-after': '5' }, 'RetryError', 'reply_unavailable'],
    [500, {}, 'ReasonedError', 'reply_unavailable'],
  ])('%i', async (status, headers, name, reason) => {
    const { url, received } = await receiver(status, headers as Record<string, string>)

    await expect(open.post(url, BODY, 'key', signal)).rejects.toMatchObject({ name, reason })
    expect(received).toHaveLength(1)
  })
})

test('this machine is not called where only the public internet may be', async () => {
  const { url, received } = await receiver(200)
  const closed = callbacks('public')

  for (const address of [url, url.replace('127.0.0.1', 'localhost'), url.replace('127.0.0.1', '[::ffff:127.0.0.1]')]) {
    await expect(closed.post(address, BODY, 'key', signal)).rejects.toMatchObject({ name: 'TerminalError' })
  }
  expect(received).toEqual([])
})

describe('addresses inside are refused', () => {
  test.each([
    '10.0.0.1',
    '172.16.5.5',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '::',
    'fd00::1',
    'fe80::1',
    '::ffff:10.0.0.1',
    '::ffff:a00:1',
    '64:ff9b::a00:1',
    '224.0.0.1',
  ])('%s', (address) => {
    expect(addressProblem(address, 'public')).not.toBeNull()
    expect(addressProblem(address, 'public_and_loopback')).not.toBeNull()
    expect(addressProblem(address, 'any')).toBeNull()
  })

  test.each(['93.184.216.34', '2606:4700::1111', '::ffff:8.8.8.8'])('%s is outside', (address) => {
    expect(addressProblem(address, 'public')).toBeNull()
  })

  test.each([
    'http://2130706433/',
    'http://0x7f.1/',
    'http://127.1/',
    'http://[::1]/',
    'http://localhost./',
    'http://user:password@example.com/',
    'file:///etc/passwd',
    'gopher://example.com/',
  ])('%s', (url) => {
    expect(replyToProblem(url, 'public')).not.toBeNull()
  })
})
