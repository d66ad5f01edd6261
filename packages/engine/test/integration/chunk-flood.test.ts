import { expect, test } from 'vitest'
import { agentOf, gate, setup } from './world.ts'

test('a flood of chunks that the database takes slowly holds up no other step, and the step that made it only for a bound', async () => {
  const { foothold, worker, query } = await setup()
  await query(`create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.4); return null; end $$;
    create trigger slow after insert on foothold.stream_chunks for each statement execute function slow()`)
  const flooded = gate()
  const flooding = agentOf(
    (task) =>
      task.step('поток', ({ emit }) => {
        for (let n = 0; n < 60_000; n += 1) emit('text', `слово ${n} `)
        flooded.open()
        return 'весь ответ'
      }),
    { name: 'flooding' },
  )
  const showing = agentOf(
    (task) =>
      task.step('рядом', ({ emit }) => {
        emit('text', 'одно слово')
        return 'рядом'
      }),
    { name: 'showing' },
  )
  await worker([flooding, showing])

  const at = Date.now()
  const flood = await foothold.submit(flooding, null)
  await flooded.opened
  const beside = await foothold.submit(showing, null)

  expect(await beside.result({ timeoutMs: 12_000 })).toBe('рядом')
  expect(await flood.result({ timeoutMs: 12_000 })).toBe('весь ответ')
  expect(Date.now() - at).toBeLessThan(12_000)
})

test('a channel that PostgreSQL could not store is refused where it is named, and takes no other chunk with it', async () => {
  const { foothold, worker, query } = await setup()
  const showing = agentOf((task) =>
    task.step('ответ', ({ emit }) => {
      emit('text', 'видно \u0000')
      try {
        emit('te\u0000xt', 'не видно')
      } catch (error) {
        return (error as Error).message
      }
      return 'принято'
    }),
  )
  await worker([showing])

  expect(await (await foothold.submit(showing, null)).result({ timeoutMs: 10_000 })).toMatch(/channel: .*U\+0000/)
  expect(await query(`select chunk from foothold.stream_chunks where channel = 'text'`)).toHaveLength(1)
})

test('what a given-up try goes on to show is not taken for the present one', async () => {
  const { foothold, worker, query } = await setup()
  const late = gate()
  const talking = agentOf((task) =>
    task.step(
      'поток',
      async ({ emit, tries }) => {
        if (tries > 1) {
          late.open()
          await new Promise((resolve) => setTimeout(resolve, 100))
          return 'второй'
        }
        emit('text', 'первая')
        await late.opened
        emit('text', 'призрак')
        return 'первый'
      },
      { timeoutMs: 150, retry: { firstDelayMs: 10, delayMaxMs: 10 } },
    ),
  )
  await worker([talking])

  expect(await (await foothold.submit(talking, null)).result({ timeoutMs: 10_000 })).toBe('второй')
  const chunks = await query<{ chunk: string }>(`select chunk from foothold.stream_chunks where channel = 'text'`)
  expect(chunks.map(({ chunk }) => chunk)).toEqual(['первая'])
})
