import { expect, test } from 'vitest'
import type { LlmEvent } from '../src/port.ts'
import { ASK, answer, CHAT, DONE, delta, json, MODEL, read, setup, sse, USAGE } from './gigachat-peer.ts'

const STATE_ID = '0199e210-2f13-744c-8fe5-c9a19fe27db7'
const CALL = { name: 'get_order', arguments: { order_id: '5501', клиент: 'Иван' } }
const EVENT: LlmEvent = { type: 'function_call', name: CALL.name, arguments: CALL.arguments, stateId: STATE_ID }

test('a function call comes with its arguments as an object and its state id', async () => {
  const { client } = await setup({
    [CHAT]: (response) =>
      json(response, answer({ function_call: CALL, functions_state_id: STATE_ID }, 'function_call')),
  })

  const { events } = await read(client, { messages: ASK.messages })

  expect(events).toEqual([
    { type: 'usage', inputTokens: 17, outputTokens: 42, raw: USAGE },
    EVENT,
    { type: 'finish', reason: 'function_call', model: MODEL },
  ])
})

test('a streamed function call is whole, also when its state id comes in another event', async () => {
  const { client } = await setup({
    [CHAT]: (response) =>
      sse(response).end(
        delta({ role: 'assistant', content: '', functions_state_id: STATE_ID }) +
          delta({ function_call: CALL }) +
          delta({ content: '' }, 'function_call', USAGE) +
          DONE,
      ),
  })

  const { events } = await read(client)

  expect(events).toContainEqual(EVENT)
  expect(events.at(-1)).toEqual({ type: 'finish', reason: 'function_call', model: MODEL })
})

test('ids beyond 2^53 in arguments keep every digit, as strings', async () => {
  const raw = JSON.stringify(answer({ function_call: CALL }, 'function_call')).replace(
    '"5501"',
    '9007199254740993,"chat":-5366182128746793135,"amount":12.5,"count":9007199254740991',
  )
  const { client } = await setup({
    [CHAT]: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(raw),
  })

  const { events } = await read(client, { messages: ASK.messages })

  expect(events.find((event) => event.type === 'function_call')?.arguments).toEqual({
    order_id: '9007199254740993',
    chat: '-5366182128746793135',
    amount: 12.5,
    count: 9007199254740991,
    клиент: 'Иван',
  })
})

test('arguments that a gateway sends as text are read like an object', async () => {
  const { client } = await setup({
    [CHAT]: (response) =>
      json(
        response,
        answer({ function_call: { name: 'get_order', arguments: '{"order_id":9007199254740993}' } }, 'function_call'),
      ),
  })

  const { events } = await read(client, { messages: ASK.messages })

  expect(events.find((event) => event.type === 'function_call')?.arguments).toEqual({ order_id: '9007199254740993' })
})

test('the state id of a call goes back with the history', async () => {
  const { client, peer } = await setup({ [CHAT]: (response) => json(response, answer({ content: 'В пути' })) })

  await read(client, {
    messages: [
      { role: 'user', content: 'Где заказ?' },
      { role: 'assistant', content: '', functionCall: CALL, stateId: STATE_ID },
      { role: 'function', name: 'get_order', content: '{"status":"в пути"}' },
    ],
  })

  expect(peer.to(CHAT)[0]?.json.messages).toEqual([
    { role: 'user', content: 'Где заказ?' },
    { role: 'assistant', content: '', function_call: CALL, functions_state_id: STATE_ID },
    { role: 'function', name: 'get_order', content: '{"status":"в пути"}' },
  ])
})
