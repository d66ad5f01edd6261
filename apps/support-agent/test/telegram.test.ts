import { type RunningTelegram, startTelegram } from '@foothold/simulators'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { telegram } from '../src/integrations/telegram.ts'
import type { Messenger } from '../src/ports.ts'
import { closedPort } from './closed-port.ts'

let simulator: RunningTelegram
let messenger: Messenger
const MANAGER = '700100200'

beforeAll(async () => {
  simulator = await startTelegram()
  const { token, apiRoot, defaultChatId } = simulator
  messenger = telegram({ token, apiRoot, defaultChatId })
})
beforeEach(() => simulator.control.reset())
afterAll(() => simulator.close())

const { signal } = new AbortController()

async function texts(): Promise<string[]> {
  const { messages } = (await simulator.control.call('GET', 'messages')) as { messages: { text: string }[] }
  return messages.map((message) => message.text)
}

function answers(status: number, body: unknown, times = 1) {
  return simulator.control.fault({ match: {}, times, fault: { kind: 'answer', status, body } })
}

test('model text full of markup arrives on the first try', async () => {
  const text = 'Цена 1.5–2 (скидка 10%)! a_b*c [x](y ``` &lt;script&gt;alert(1)&lt;/script&gt;'

  expect(await messenger.send(MANAGER, text, signal)).toMatchObject({ kind: 'sent' })

  expect(await texts()).toEqual(['Цена 1.5–2 (скидка 10%)! a_b*c [x](y ``` <script>alert(1)</script>'])
})

test('markup that Telegram cannot parse is sent once more as plain text, and never again', async () => {
  expect(await messenger.send(MANAGER, '<b>жирно <script>x</script>', signal)).toMatchObject({ kind: 'sent' })

  const { received } = await simulator.control.ledger()
  expect(received).toHaveLength(2)
  expect(await texts()).toEqual(['жирно x'])
})

test('every part of a long message is accepted', async () => {
  const parts = messenger.parts(`<b>${'Здравствуйте! &amp; 😀\n'.repeat(900)}</b>`)

  for (const part of parts) await messenger.send(MANAGER, part, signal)

  // Telegram itself drops white space at the ends of a message.
  expect((await texts()).join('\n')).toBe('Здравствуйте! & 😀\n'.repeat(900).trim())
})

test('a chat id past 2^53 reaches its own chat', async () => {
  await messenger.send('5366182128746793135', 'Олегу', signal)

  const { messages } = (await simulator.control.call('GET', 'messages')) as { messages: { chatId: string }[] }
  expect(messages.map((message) => message.chatId)).toEqual(['5366182128746793135'])
})

test('a manager who blocked the bot is replaced by the default chat', async () => {
  await simulator.control.call('PUT', `chats/${MANAGER}`, { kind: 'blocked' })

  expect(await messenger.send(MANAGER, 'привет', signal)).toMatchObject({ kind: 'sent' })
})

test('a group that moved is followed', async () => {
  await simulator.control.call('PUT', 'chats/-100500', { kind: 'open' })
  await simulator.control.call('PUT', `chats/${MANAGER}`, { kind: 'migrated', toChatId: '-100500' })

  expect(await messenger.send(MANAGER, 'привет', signal)).toMatchObject({ kind: 'sent' })
})

const tooMany = (seconds: number) => ({
  ok: false,
  error_code: 429,
  description: `Too Many Requests: retry after ${seconds}`,
  parameters: { retry_after: seconds },
})

test('a short pause is waited for by the engine, a long one leaves the step', async () => {
  await answers(429, tooMany(3))
  await expect(messenger.send(MANAGER, 'a', signal)).rejects.toMatchObject({ name: 'RetryError', afterMs: 3_000 })

  await answers(429, tooMany(5_329))
  expect(await messenger.send(MANAGER, 'a', signal)).toEqual({ kind: 'later', afterMs: 5_329_000 })
})

test('a wrong token is final, and its error does not show it', async () => {
  const other = telegram({ token: '123:SECRET', apiRoot: simulator.apiRoot, defaultChatId: null })

  const error = (await other.send(MANAGER, 'a', signal).catch((thrown: unknown) => thrown)) as Error

  expect(error).toMatchObject({ name: 'TerminalError', reason: 'telegram_rejected' })
  expect(JSON.stringify(error) + error.message + error.stack).not.toContain('SECRET')
})

test('after a lost answer nobody claims to know: one request, unknown outcome', async () => {
  await simulator.control.fault({ match: {}, fault: { kind: 'drop_after_commit' } })

  await expect(messenger.send(MANAGER, 'a', signal)).rejects.toMatchObject({
    name: 'ReasonedError',
    reason: 'telegram_unavailable',
  })
  expect((await simulator.control.ledger()).received).toHaveLength(1)
})

test('a connection that was never made is a definite "not sent"', async () => {
  const nobody = telegram({ token: '1:x', apiRoot: `http://127.0.0.1:${await closedPort()}`, defaultChatId: null })

  await expect(nobody.send(MANAGER, 'a', signal)).rejects.toMatchObject({
    name: 'RetryError',
    reason: 'telegram_unavailable',
  })
})
