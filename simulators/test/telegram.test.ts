import { afterEach, expect, test } from 'vitest'
import { type RunningTelegram, startTelegram, type TelegramOptions } from '../src/index.ts'

const running: RunningTelegram[] = []

afterEach(async () => {
  for (const one of running.splice(0)) await one.close()
})

async function setup(options: TelegramOptions = {}): Promise<RunningTelegram> {
  const telegram = await startTelegram(options)
  running.push(telegram)
  return telegram
}

interface Answer {
  readonly ok: boolean
  readonly error_code?: number
  readonly description?: string
  readonly parameters?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly text: string
}

async function call(
  telegram: RunningTelegram,
  method: string,
  parameters: unknown,
  token = telegram.token,
): Promise<Answer> {
  const response = await fetch(`${telegram.apiRoot}/bot${token}/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(parameters),
  })
  const text = await response.text()
  return { ...(JSON.parse(text) as Omit<Answer, 'text'>), text }
}

function send(telegram: RunningTelegram, text: string, more: Record<string, unknown> = {}): Promise<Answer> {
  return call(telegram, 'sendMessage', { chat_id: telegram.defaultChatId, text, parse_mode: 'HTML', ...more })
}

test('a message is sent, numbered, kept as parsed text and in the ledger as it was sent', async () => {
  const telegram = await setup()

  const first = await send(telegram, '<b>Заказ</b> &lt;5501&gt; &amp; 🌍')
  const second = await send(telegram, 'Ещё')

  expect(first).toMatchObject({
    ok: true,
    result: { message_id: 1, text: 'Заказ <5501> & 🌍', chat: { type: 'private' } },
  })
  expect(second.result?.message_id).toBe(2)
  const { committed } = await telegram.control.ledger()
  expect(committed[0]).toMatchObject({ kind: 'telegram.message', key: telegram.defaultChatId })
  expect(committed[0]?.value).toMatchObject({ source: '<b>Заказ</b> &lt;5501&gt; &amp; 🌍' })
})

test('getMe answers the bot, an unknown token and method do not', async () => {
  const telegram = await setup()

  expect(await call(telegram, 'getMe', {})).toMatchObject({ ok: true, result: { is_bot: true } })
  expect(await call(telegram, 'getMe', {}, '1:wrong')).toMatchObject({
    ok: false,
    error_code: 401,
    description: 'Unauthorized',
  })
  expect(await call(telegram, 'sendSmoke', {})).toMatchObject({ ok: false, error_code: 404 })
})

test('the limit is 4096 UTF-16 units after the markup is taken away', async () => {
  const telegram = await setup()

  const fits = await send(telegram, `<b>${'&amp;'.repeat(4096)}</b>`)
  const over = await send(telegram, '!'.repeat(4097))
  const emoji = await send(telegram, '😀'.repeat(2049))

  expect(fits.ok).toBe(true)
  expect(over.description).toBe('Bad Request: message is too long')
  expect(emoji.description).toBe('Bad Request: message is too long')
  expect((await send(telegram, '😀'.repeat(2048))).ok).toBe(true)
  expect((await send(telegram, ' <b> </b>')).description).toBe('Bad Request: message text is empty')
})

test.each([
  ['<script>x</script>', 'Unsupported start tag "script" at byte offset 0'],
  ['Цена <b>5', 'Can\'t find end tag corresponding to start tag "b"'],
  ['я </b>', 'Unexpected end tag at byte offset 3'],
  ['<b><i>x</b></i>', 'Unmatched end tag at byte offset 7, expected "</i>", found "</b>"'],
  ['1 < 2', 'Unclosed start tag at byte offset 2'],
  ['<span>x</span>', 'Tag "span" must have class "tg-spoiler" at byte offset 0'],
])('the HTML %j cannot be parsed: %s', async (text, problem) => {
  const telegram = await setup()

  const answer = await send(telegram, text)

  expect(answer.error_code).toBe(400)
  expect(answer.description).toBe(`Bad Request: can't parse entities: ${problem}`)
  expect((await telegram.control.ledger()).committed).toEqual([])
})

test('what is no markup in HTML, and any text without a mode, is sent as it stands', async () => {
  const telegram = await setup()
  const text = 'Цена 1.5–2 (скидка 10%)! a_b*c [x](y &nbsp; ```'

  expect((await send(telegram, text)).result?.text).toBe(text)
  const link = '<a href="https://example.org/?a=1&amp;b=2">ссылка</a> <blockquote expandable>q</blockquote>'
  expect((await send(telegram, link)).result?.text).toBe('ссылка q')
  expect(
    (await call(telegram, 'sendMessage', { chat_id: telegram.defaultChatId, text: '<b>1 < 2' })).result?.text,
  ).toBe('<b>1 < 2')
})

test('MarkdownV2 refuses a reserved character without a backslash', async () => {
  const telegram = await setup()

  const bare = await send(telegram, 'Цена 1.5', { parse_mode: 'MarkdownV2' })
  const escaped = await send(telegram, '*Цена* 1\\.5 [тут](https://example.org/a.b)', { parse_mode: 'MarkdownV2' })
  const open = await send(telegram, '*Цена', { parse_mode: 'MarkdownV2' })

  expect(bare.description).toContain("Character '.' is reserved")
  expect(escaped.result?.text).toBe('Цена 1.5 тут')
  expect(open.description).toContain("Can't find end")
})

test('chats may be unknown, blocked or moved to a supergroup', async () => {
  const telegram = await setup()
  await telegram.control.call('PUT', 'chats/111', { kind: 'blocked' })
  await telegram.control.call('PUT', 'chats/-222', { kind: 'migrated', toChatId: '-1009007199254740993' })

  expect(await send(telegram, 'x', { chat_id: '999' })).toMatchObject({
    error_code: 400,
    description: 'Bad Request: chat not found',
  })
  expect(await send(telegram, 'x', { chat_id: 111 })).toMatchObject({
    error_code: 403,
    description: 'Forbidden: bot was blocked by the user',
  })
  expect((await send(telegram, 'x', { chat_id: '-222' })).text).toContain('"migrate_to_chat_id":-1009007199254740993')
})

test('chat ids past 2^53 come in and go out with all their digits', async () => {
  const telegram = await setup()
  const response = await fetch(`${telegram.apiRoot}/bot${telegram.token}/sendMessage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"chat_id":5366182128746793135,"text":"Олегу"}',
  })

  expect(await response.text()).toContain('"chat":{"id":5366182128746793135,')
  expect((await telegram.control.ledger()).committed[0]?.key).toBe('5366182128746793135')
})

test('an edit changes the message once; the same text again is not modified', async () => {
  const telegram = await setup()
  await send(telegram, 'Принят')
  const edit = { chat_id: telegram.defaultChatId, message_id: 1, text: 'Готов' }

  const first = await call(telegram, 'editMessageText', edit)
  const again = await call(telegram, 'editMessageText', edit)
  const missing = await call(telegram, 'editMessageText', { ...edit, message_id: 9 })

  expect(first.result).toMatchObject({ message_id: 1, text: 'Готов' })
  expect(again.description).toMatch(/^Bad Request: message is not modified/)
  expect(missing.description).toBe('Bad Request: message to edit not found')
})

test('more messages a second than a chat may get are told when to come back, other chats are not delayed', async () => {
  const telegram = await setup({ messagesPerSecondPerChat: 1 })
  await send(telegram, 'раз')

  const second = await send(telegram, 'два')
  const other = await send(telegram, 'два', { chat_id: '700100200' })

  expect(second).toMatchObject({ ok: false, error_code: 429, parameters: { retry_after: 1 } })
  expect(other.ok).toBe(true)
})

test('a fault tells a retry_after of any length, and one can take a message and drop the answer', async () => {
  const telegram = await setup()
  const description = 'Too Many Requests: retry after 5329'
  const body = { ok: false, error_code: 429, description, parameters: { retry_after: 5329 } }
  await telegram.control.fault({ match: { path: 'sendMessage' }, fault: { kind: 'answer', status: 429, body } })
  expect((await send(telegram, 'x')).parameters).toEqual({ retry_after: 5329 })

  await telegram.control.fault({ match: { path: 'sendMessage' }, fault: { kind: 'drop_after_commit' } })
  await expect(send(telegram, 'принято')).rejects.toThrow('fetch failed')

  const { committed } = await telegram.control.ledger()
  expect(committed).toHaveLength(1)
})

test('form fields and query parameters work as JSON does, and the ledger hides the token', async () => {
  const telegram = await setup()
  const url = `${telegram.apiRoot}/bot${telegram.token}/sendMessage`

  const form = await fetch(url, {
    method: 'POST',
    body: new URLSearchParams({ chat_id: telegram.defaultChatId, text: 'форма' }),
  })
  const get = await fetch(`${url}?chat_id=${telegram.defaultChatId}&text=${encodeURIComponent('запрос')}`)

  expect([form.status, get.status]).toEqual([200, 200])
  expect(JSON.stringify(await telegram.control.ledger())).not.toContain(telegram.token)
})
