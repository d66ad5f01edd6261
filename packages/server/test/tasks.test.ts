import { TaskDetail, TaskPage, WorkerList } from '@foothold/http-api'
import { FootholdError, type StepView } from 'foothold'
import { expect, test } from 'vitest'
import { json, setup } from './setup.ts'

const NOBODY = '01890a5d-ac96-774b-bcce-b302099a8057'

test('a task is shown with its steps and attempts, and every value in its documented form', async () => {
  const { app, foothold, submit } = setup()
  const id = await submit()
  const step: StepView = {
    key: 'tool_call:1',
    kind: 'effect',
    status: 'completed',
    version: 1,
    tries: 2,
    attempt: 1,
    workerId: 'w',
    output: {
      id: 9007199254740993n,
      at: new Date('2027-01-02T03:04:05.678Z'),
      amounts: new Map([['итого', 5n]]),
      pairs: new Map([[1, 'один']]),
      tags: new Set(['a', 'б']),
      bytes: new Uint8Array([0, 255]),
      nothing: undefined,
      notANumber: Number.NaN,
      nul: 'a\0b',
    },
    error: null,
    usage: { model: 'GigaChat-2', inputTokens: 10, outputTokens: 4 },
    child: null,
    question: null,
    startedAt: new Date('2027-01-02T03:04:05Z'),
    finishedAt: null,
  }
  foothold.change(id, {
    status: 'processing',
    steps: [step],
    attempts: [
      {
        attempt: 1,
        workerId: 'w',
        startedAt: new Date('2027-01-02T03:04:05Z'),
        endedAt: new Date('2027-01-02T03:05:05Z'),
        outcome: 'orphaned',
        reason: 'orphaned',
        detail: null,
      },
    ],
  })

  const response = await app.request(`/v1/tasks/${id.toUpperCase()}`)

  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('no-store')
  const detail = TaskDetail.parse(await response.json())
  expect(detail).toMatchObject({ id, status: 'processing', createdAt: '2027-01-02T03:04:05.678Z', startedAt: null })
  expect(detail.attempts).toMatchObject([{ outcome: 'orphaned', endedAt: '2027-01-02T03:05:05.000Z' }])
  expect(detail.steps[0]?.output).toEqual({
    id: '9007199254740993',
    at: '2027-01-02T03:04:05.678Z',
    amounts: { итого: '5' },
    pairs: [[1, 'один']],
    tags: ['a', 'б'],
    bytes: 'AP8=',
    notANumber: 'NaN',
    nul: 'a\0b',
  })
})

test('a task that is not there is 404, an id that is none is 400', async () => {
  const { app } = setup()

  const missing = await app.request(`/v1/tasks/${NOBODY}`)
  const wrong = await app.request('/v1/tasks/5501')

  expect(missing.status).toBe(404)
  expect(await json(missing)).toMatchObject({ code: 'TASK_NOT_FOUND', details: { taskId: NOBODY } })
  expect(wrong.status).toBe(400)
  expect((await json(wrong)).detail).toBe('id: "5501" is not a task id, which is a UUID.')
})

test('the list is filtered and paged', async () => {
  const { app, foothold, submit } = setup()
  const ids = [await submit(), await submit(), await submit()]
  foothold.end(ids[1] as string, 'dead_letter', { lastReason: 'budget' })

  const first = TaskPage.parse(await (await app.request('/v1/tasks?status=pending&limit=1')).json())
  const second = TaskPage.parse(
    await (await app.request(`/v1/tasks?status=pending&limit=1&cursor=${first.nextCursor}`)).json(),
  )
  const dead = TaskPage.parse(await (await app.request('/v1/dead-letters?agent=support')).json())

  expect([first, second].flatMap((page) => page.items.map((task) => task.id))).toEqual([ids[2], ids[0]])
  expect(second.nextCursor).toBeNull()
  expect(dead.items.map((task) => [task.id, task.lastReason])).toEqual([[ids[1], 'budget']])
})

test.each([
  ['status=done', 'status: '],
  ['limit=0', 'limit: '],
  ['limit=201', 'limit: '],
  ['limit=ten', 'limit: '],
  ['state=pending', 'query: '],
  ['tenant=a%00b', 'tenant: contains U+0000'],
  ['agent=a&agent=b', 'agent: it is given more than once'],
])('a wrong filter is refused with 400, not ignored: %s', async (query, told) => {
  const { app } = setup()

  const response = await app.request(`/v1/tasks?${query}`)

  expect(response.status).toBe(400)
  expect((await json(response)).detail).toContain(told)
})

test('cancel says what came of it, with or without a reason', async () => {
  const { post, app, foothold, submit } = setup()
  const [pending, processing, completed] = [await submit(), await submit(), await submit()]
  foothold.change(processing, { status: 'processing' })
  foothold.end(completed, 'completed')

  const answers = await Promise.all([
    post(`/v1/tasks/${pending}/cancel`, { reason: 'клиент передумал' }),
    app.request(`/v1/tasks/${processing}/cancel`, { method: 'POST' }),
    post(`/v1/tasks/${completed}/cancel`, {}),
  ])

  expect(await Promise.all(answers.map(json))).toEqual([
    { outcome: 'cancelled', status: 'cancelled' },
    { outcome: 'requested', status: 'processing' },
    { outcome: 'already_ended', status: 'completed' },
  ])
  expect((await foothold.task(pending as never))?.lastReason).toBe('клиент передумал')
})

test('a dead letter is resumed with 204, anything else is refused with 409', async () => {
  const { post, foothold, submit } = setup()
  const id = await submit()
  foothold.end(id, 'dead_letter')

  const resumed = await post(`/v1/tasks/${id}/resume`, '')
  const again = await post(`/v1/tasks/${id}/resume`, '')

  expect(resumed.status).toBe(204)
  expect(again.status).toBe(409)
  expect(await json(again)).toMatchObject({ code: 'TASK_STATE_CONFLICT', details: { status: 'pending' } })
})

test('workers are listed', async () => {
  const { app } = setup()

  const workers = WorkerList.parse(await (await app.request('/v1/workers')).json())

  expect(workers.items).toMatchObject([{ release: 'выпуск-7', startedAt: '2027-01-02T03:04:05.678Z' }])
})

test('an unreachable database is 503 with Retry-After', async () => {
  const { app, foothold } = setup()
  foothold.failWith(new FootholdError('DATABASE_UNAVAILABLE', { doing: 'listing tasks', waitedMs: 5_000 }))

  const response = await app.request('/v1/tasks')

  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toBe('2')
  expect((await json(response)).code).toBe('DATABASE_UNAVAILABLE')
})

test('a failure of ours is 500 without its inside; the log has it under the same request id', async () => {
  const logged: { fields: object; message: string }[] = []
  const ignore = (): void => {}
  const logger = {
    debug: ignore,
    info: ignore,
    warn: ignore,
    error: (fields: object, message: string) => logged.push({ fields, message }),
  }
  const { app, foothold } = setup({ logger })
  foothold.failWith(new Error('relation "foothold.tasks" does not exist'))

  const response = await app.request('/v1/tasks', { headers: { 'x-request-id': 'req-7' } })

  expect(response.status).toBe(500)
  expect(response.headers.get('x-request-id')).toBe('req-7')
  const text = await response.text()
  expect(text).not.toContain('relation')
  expect(JSON.parse(text)).toMatchObject({ code: 'INTERNAL', requestId: 'req-7' })
  expect(logged).toEqual([
    {
      message: 'an HTTP request failed',
      fields: expect.objectContaining({
        requestId: 'req-7',
        method: 'GET',
        path: '/v1/tasks',
        error: expect.objectContaining({ message: 'relation "foothold.tasks" does not exist' }),
      }),
    },
  ])
})

test('an address that is not there is 404 and a method that is not there 405, both as problems with a request id', async () => {
  const { app, post } = setup()

  const missing = await app.request('/v2/tasks')
  const wrong = await app.request('/v1/tasks', { method: 'DELETE' })
  const alsoWrong = await post('/v1/workers', {})

  expect([missing.status, wrong.status, alsoWrong.status]).toEqual([404, 405, 405])
  expect([wrong.headers.get('allow'), alsoWrong.headers.get('allow')]).toEqual(['POST, GET', 'GET'])
  const problem = await json(missing)
  expect(problem.code).toBe('ROUTE_NOT_FOUND')
  expect(problem.requestId).toBe(missing.headers.get('x-request-id'))
})

test('healthz never asks the database, readyz does', async () => {
  const { app, foothold } = setup()
  foothold.failWith(new FootholdError('DATABASE_UNAVAILABLE', { doing: 'looking', waitedMs: 2_000 }))

  const health = await app.request('/healthz')
  const callsOfHealth = foothold.calls.length
  const notReady = await app.request('/readyz')
  foothold.failWith(null)
  const ready = await app.request('/readyz')

  expect([health.status, callsOfHealth, notReady.status, ready.status]).toEqual([200, 0, 503, 200])
})
