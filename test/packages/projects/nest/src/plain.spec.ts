import { connect, isFootholdError } from 'foothold'
import { createTestDatabase } from 'foothold/testing'
import { greet } from './greet.agent'

/** What Jest runs without any flag: CommonJS alone. */
describe('foothold under plain Jest', () => {
  it('runs a task in a database of its own, and refuses in its own words', async () => {
    const database = await createTestDatabase(process.env.DATABASE_URL ?? '')
    const foothold = await connect(database.url, { logger: 'silent' })
    const worker = foothold.worker({ agents: [greet] })
    await worker.start()

    expect(await (await foothold.submit(greet, { name: 'мир' })).result()).toBe('Привет, мир!')
    const refusal = await foothold.submit('greet', () => 1).catch((error: unknown) => error)
    expect(isFootholdError(refusal, 'VALUE_NOT_STORABLE')).toBe(true)

    await foothold.close()
    await database.drop()
  })
})
