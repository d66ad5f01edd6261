import { afterEach, expect, test } from 'vitest'
import { type RunningGigaChat, startGigaChat } from '../src/index.ts'
import { eventsOf, GigaChatClient, textOf } from './gigachat-client.ts'

const QUESTION = 'Какие способы оплаты вы принимаете?'
const running: RunningGigaChat[] = []

afterEach(async () => {
  for (const one of running.splice(0)) await one.close()
})

async function setup(): Promise<{ gigachat: RunningGigaChat; client: GigaChatClient }> {
  const gigachat = await startGigaChat({ chunkDelayMs: 0 })
  running.push(gigachat)
  const client = await GigaChatClient.start(gigachat)
  await gigachat.control.clearLedger()
  return { gigachat, client }
}

test('a gate before the service holds a request that has done nothing yet', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.gate({ name: 'plan', match: { path: 'chat/completions' } })

  const answer = client.chat(QUESTION)
  await gigachat.control.waitForGate('plan')
  expect((await gigachat.control.ledger()).committed).toEqual([])
  await gigachat.control.openGate('plan')

  expect((await answer).status).toBe(200)
  expect((await gigachat.control.ledger()).committed).toHaveLength(1)
})

test('a gate after the commit holds an answer whose effect is done', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.gate({ name: 'done', point: 'after_commit' })

  const answer = client.chat(QUESTION)
  await gigachat.control.waitForGate('done')

  const { committed, received } = await gigachat.control.ledger()
  expect(committed).toHaveLength(1)
  expect(received[0]?.answer.state).toBe('pending')
  await gigachat.control.openGate('done')
  expect((await answer).status).toBe(200)
})

test('a gate in mid-stream holds after exactly the events it names', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.gate({ name: 'half', point: 'mid_stream', afterEvents: 2 })

  const response = await client.stream(QUESTION)
  await gigachat.control.waitForGate('half')
  const reader = response.body?.getReader()
  let seen = ''
  while (eventsOf(seen).length < 2) seen += Buffer.from((await reader?.read())?.value ?? []).toString()
  expect(eventsOf(seen)).toHaveLength(2)
  await gigachat.control.openGate('half')
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    seen += Buffer.from(part.value).toString()
  }

  expect(seen.endsWith('data: [DONE]\n\n')).toBe(true)
  expect(textOf(eventsOf(seen)).length).toBeGreaterThan(20)
})

test('a request whose client has gone stays in the gate and is still done when it opens', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.gate({ name: 'zombie' })
  const dying = new AbortController()
  const answer = client.chat(QUESTION, {}, { signal: dying.signal })
  await gigachat.control.waitForGate('zombie')

  dying.abort()
  await expect(answer).rejects.toThrow('aborted')
  await gigachat.control.waitForGate('zombie', { abandoned: 1 })
  await gigachat.control.openGate('zombie')

  const { committed, received } = await gigachat.control.waitForLedger({ committed: 1, ended: 1 })
  expect(committed).toHaveLength(1)
  expect(received[0]?.answer.state).toBe('aborted')
})

test('a gate counts who waits, holds no more than it is told, and lets all pass once open', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.gate({ name: 'two', times: 2 })

  const held = [client.chat(QUESTION), client.chat(QUESTION)]
  const state = await gigachat.control.waitForGate('two', { count: 2 })
  const passed = await client.chat(QUESTION)
  expect(state).toMatchObject({ name: 'two', point: 'before', waiting: 2, abandoned: 0, entered: 2, open: false })
  expect(passed.status).toBe(200)
  await gigachat.control.openGate('two')
  await Promise.all(held)

  expect(await gigachat.control.gateState('two')).toMatchObject({ waiting: 0, entered: 2, open: true })
  expect((await client.chat(QUESTION)).status).toBe(200)
})

test('waiting for a gate that nobody reaches ends with how many came', async () => {
  const { gigachat } = await setup()
  await gigachat.control.gate({ name: 'empty' })

  await expect(gigachat.control.waitForGate('empty', { timeoutMs: 20 })).rejects.toThrow('gate empty has 0')
  await expect(gigachat.control.gateState('unknown')).rejects.toThrow('no gate unknown')
  await expect(gigachat.control.gate({ name: 'no space' })).rejects.toThrow('name')
})

test('a close or a reset opens every gate', async () => {
  const { gigachat, client } = await setup()
  await gigachat.control.gate({ name: 'closed' })
  const answer = client.chat(QUESTION)
  await gigachat.control.waitForGate('closed')

  await gigachat.control.reset()

  expect((await answer).status).toBe(200)
})
