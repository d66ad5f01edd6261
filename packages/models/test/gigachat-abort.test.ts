import { expect, test } from 'vitest'
import { ASK, CHAT, collectWarnings, delta, OAUTH, read, setup, sse, streamOf } from './gigachat-peer.ts'
import type { Route } from './wire-server.ts'

const halfThenSilence: Route = (response) => sse(response).write(delta({ content: 'Начало' }))
const silence: Route = () => undefined

test.each([
  ['before the first byte', silence],
  ['in mid-stream', halfThenSilence],
])('an abort %s rejects with its reason and closes the request', async (_when, route) => {
  const { client, peer } = await setup({ [CHAT]: route })
  const stop = new AbortController()
  const arrival = peer.arrival(CHAT)
  const reading = read(client, ASK, stop.signal)
  const request = await arrival

  stop.abort(new Error('Стоп'))

  expect((await reading).error).toEqual(new Error('Стоп'))
  await request.aborted
})

test('an abort between two pieces closes the request although nobody reads', async () => {
  const { client, peer } = await setup({ [CHAT]: halfThenSilence })
  const stop = new AbortController()
  const arrival = peer.arrival(CHAT)
  const events = client.model.stream(ASK, { signal: stop.signal })[Symbol.asyncIterator]()
  await events.next()

  stop.abort(new Error('Стоп'))

  await (await arrival).aborted
  await expect(events.next()).rejects.toThrow('Стоп')
})

test('leaving the loop closes the request', async () => {
  const { client, peer } = await setup({ [CHAT]: halfThenSilence })
  const arrival = peer.arrival(CHAT)

  for await (const event of client.model.stream(ASK, { signal: new AbortController().signal })) {
    expect(event).toEqual({ type: 'text', text: 'Начало' })
    break
  }

  await (await arrival).aborted
})

test('a signal that is already aborted sends nothing', async () => {
  const { client, peer } = await setup({ [CHAT]: halfThenSilence })

  const { error } = await read(client, ASK, AbortSignal.abort(new Error('Поздно')))

  expect(error).toEqual(new Error('Поздно'))
  expect(peer.to(CHAT)).toHaveLength(0)
})

test('fifty calls leave no listener on a long-lived signal', async () => {
  const { client } = await setup({ [CHAT]: (response) => sse(response).end(streamOf('да')) })
  const warnings = collectWarnings()
  const { signal } = new AbortController()

  for (let call = 0; call < 50; call++) await read(client, ASK, signal)

  expect(warnings).toEqual([])
})

test('closing the client ends what runs, may be repeated, and nothing is sent after it', async () => {
  const { client, peer } = await setup({ [CHAT]: halfThenSilence })
  const arrival = peer.arrival(CHAT)
  const reading = read(client)
  const request = await arrival

  await client.close()
  await client.close()

  expect((await reading).error).toMatchObject({ reason: 'llm_unavailable', message: 'The GigaChat client was closed.' })
  await request.aborted
  expect((await read(client)).error).toMatchObject({ message: 'The GigaChat client was closed.' })
  expect(peer.to(CHAT)).toHaveLength(1)
})

test('closing the client during the login ends the call', async () => {
  const { client, peer } = await setup({ [OAUTH]: silence })
  const arrival = peer.arrival(OAUTH)
  const reading = read(client)
  await arrival

  await client.close()

  expect((await reading).error).toMatchObject({ message: 'The GigaChat client was closed.' })
})
