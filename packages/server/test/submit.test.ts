import { agent, FootholdError } from 'foothold'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { HttpProblem } from '../src/index.ts'
import { json, setup } from './setup.ts'

test('a new task is answered with 201, its id and where it is found', async () => {
  const { post, foothold } = setup()

  const response = await post('/v1/tasks', {
    agent: 'support',
    input: { text: 'Где мой заказ 5501?' },
    priority: 'live',
    tenant: 'ООО «Ромашка»',
    runAt: '2027-03-01T12:00:00+03:00',
    deadlineAt: '2027-03-02T00:00:00Z',
  })

  expect(response.status).toBe(201)
  const { id, created } = await json(response)
  expect(created).toBe(true)
  expect(response.headers.get('location')).toBe(`tasks/${String(id)}`)
  expect(foothold.calls[0]?.arguments).toEqual([
    'support',
    { text: 'Где мой заказ 5501?' },
    {
      dedupeKey: undefined,
      priority: 'live',
      tenant: 'ООО «Ромашка»',
      runAt: new Date('2027-03-01T09:00:00Z'),
      deadlineAt: new Date('2027-03-02T00:00:00Z'),
    },
  ])
})

test('the same dedupe key gives the same task with 200, another input under it is refused with 409', async () => {
  const { post } = setup()

  const first = await post('/v1/tasks', { agent: 'support', input: { a: 1 }, dedupeKey: 'письмо-7' })
  const second = await post('/v1/tasks', '{ "dedupeKey": "письмо-7", "input": {"a":1},\n "agent": "support" }')
  const third = await post('/v1/tasks', { agent: 'support', input: { a: 2 }, dedupeKey: 'письмо-7' })

  expect([first.status, second.status, third.status]).toEqual([201, 200, 409])
  const { id } = await json(first)
  expect(await json(second)).toEqual({ id, created: false })
  expect(await json(third)).toMatchObject({ code: 'DEDUPE_CONFLICT', details: { dedupeKey: 'письмо-7', taskId: id } })
})

test('Idempotency-Key is the dedupe key when the body names none', async () => {
  const { post, foothold } = setup()
  const headers = { 'idempotency-key': 'k-7' }

  const first = await post('/v1/tasks', { agent: 'support', input: 1 }, headers)
  const second = await post('/v1/tasks', { agent: 'support', input: 1 }, headers)
  const named = await post('/v1/tasks', { agent: 'support', input: 1, dedupeKey: 'другой' }, headers)

  expect([first.status, second.status, named.status]).toEqual([201, 200, 201])
  expect(foothold.calls.map((call) => (call.arguments[2] as { dedupeKey: string }).dedupeKey)).toEqual([
    'k-7',
    'k-7',
    'другой',
  ])
})

test('NUL, lone surrogates, a key named __proto__ and digits beyond 2^53 reach the engine as they were sent', async () => {
  const { post, foothold } = setup()

  const response = await post(
    '/v1/tasks',
    String.raw`{"agent":"support","input":{"a\u0000b":"в\u0000г","half":"\ud800","__proto__":1,"id":9007199254740993}}`,
  )

  expect(response.status).toBe(201)
  const input = foothold.calls[0]?.arguments[1] as Record<string, unknown>
  expect(Object.entries(input)).toEqual([
    ['a\0b', 'в\0г'],
    ['half', '\ud800'],
    ['__proto__', 1],
    ['id', 9007199254740993n],
  ])
})

test.each([
  [
    'a digit too much',
    '{"agent": "support",\n "input": {"a": 01}}',
    "Expected ',' or '}', found \"1\" at line 2, column 18",
  ],
  ['an end too early', '{"agent": "support"', "Expected ',' or '}', found the end at line 1, column 20"],
  ['nothing', '', 'it is empty'],
  ['no object', '"support"', 'body: '],
  ['no input', '{"agent":"support"}', 'input: it is missing'],
  ['no agent', '{"input":1}', 'agent: it is missing'],
  ['a field that nobody knows', '{"agent":"support","input":1,"dedupe_key":"x"}', 'dedupe_key'],
  ['NUL in a key', '{"agent":"support","input":1,"dedupeKey":"a\\u0000"}', 'dedupeKey: contains U+0000'],
  [
    'a tenant of 514 bytes',
    `{"agent":"support","input":1,"tenant":"${'я'.repeat(257)}"}`,
    'tenant: takes more than 512 bytes',
  ],
  ['an unknown priority', '{"agent":"support","input":1,"priority":"urgent"}', 'priority: '],
  ['a time in words', '{"agent":"support","input":1,"runAt":"tomorrow"}', 'runAt: is not an ISO time'],
  [
    '300 brackets',
    `{"agent":"support","input":${'['.repeat(300)}${']'.repeat(300)}}`,
    'Nesting deeper than 200 levels',
  ],
])('a broken submission is refused with 400 and told what is wrong: %s', async (_, body, told) => {
  const { post, foothold } = setup()

  const response = await post('/v1/tasks', body)

  expect(response.status).toBe(400)
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  expect((await json(response)).detail).toContain(told)
  expect(foothold.calls).toEqual([])
})

test('a body that is not UTF-8, or is declared as something else than JSON, is refused', async () => {
  const { app, post } = setup()

  const koi8 = await app.request('/v1/tasks', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: new Uint8Array([0x22, 0xf0, 0xd2, 0xc9, 0x22]),
  })
  const form = await post('/v1/tasks', 'agent=support', { 'content-type': 'application/x-www-form-urlencoded' })

  expect([koi8.status, form.status]).toEqual([400, 415])
  expect((await json(koi8)).detail).toBe('The body is not UTF-8.')
  expect((await json(form)).detail).toContain('Content-Type: application/json')
})

test('an unknown agent is refused with 422 and the known ones', async () => {
  const { post } = setup()

  const response = await post('/v1/tasks', { agent: 'suport', input: 1 })

  expect(response.status).toBe(422)
  expect(await json(response)).toMatchObject({
    type: 'urn:foothold:error:AGENT_UNKNOWN',
    title: 'Agent unknown',
    status: 422,
    code: 'AGENT_UNKNOWN',
    details: { agent: 'suport', known: ['support', 'mail'] },
  })
})

test('an agent given to the server is submitted with its code, so that its schema sees the input', async () => {
  const support = agent({ name: 'support', input: z.object({ text: z.string() }), run: async () => null })
  const { post, foothold } = setup({ agents: [support] })

  await post('/v1/tasks', { agent: 'support', input: { text: 'Здравствуйте' } })
  await post('/v1/tasks', { agent: 'mail', input: 1 })

  expect(foothold.calls.map((call) => call.arguments[0])).toEqual([support, 'mail'])
})

test('an input that does not fit is refused with 422 and its issues', async () => {
  const { post, foothold } = setup()
  foothold.failWith(
    new FootholdError('INPUT_INVALID', { agent: 'support', issues: [{ path: 'text', message: 'is not a string' }] }),
  )

  const response = await post('/v1/tasks', { agent: 'support', input: {} })

  expect(response.status).toBe(422)
  expect((await json(response)).details).toEqual({
    agent: 'support',
    issues: [{ path: 'text', message: 'is not a string' }],
  })
})

test('beforeSubmit may change a submission and may refuse it with a problem of its own', async () => {
  const { post, foothold } = setup({
    beforeSubmit: (submission, request) => {
      const tenant = request.headers.get('x-client')
      if (tenant === null) throw new HttpProblem(403, 'CLIENT_UNKNOWN', 'X-Client: it is missing.')
      return { ...submission, tenant }
    },
  })

  const allowed = await post('/v1/tasks', { agent: 'support', input: 1 }, { 'x-client': 'c-1' })
  const refused = await post('/v1/tasks', { agent: 'support', input: 1 })

  expect([allowed.status, refused.status]).toEqual([201, 403])
  expect(foothold.calls.map((call) => call.arguments[2])).toEqual([expect.objectContaining({ tenant: 'c-1' })])
  expect((await json(refused)).code).toBe('CLIENT_UNKNOWN')
})
