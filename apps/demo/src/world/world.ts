import { startDevPostgres } from '@foothold/dev-postgres'
import { connect, type Foothold } from 'foothold'
import pg from 'pg'
import { type Outside, openOutside } from './outside.ts'

/** What both ways of working share: a PostgreSQL of its own, and the services. Gone without a trace when closed. */
export interface World {
  readonly databaseUrl: string
  readonly foothold: Foothold
  readonly pool: pg.Pool
  readonly outside: Outside
  close(): Promise<void>
}

export async function openWorld(): Promise<World> {
  const closing: (() => Promise<unknown>)[] = []
  const close = async (): Promise<void> => {
    for (const end of closing.splice(0).reverse()) await end()
  }
  try {
    const [postgres, outside] = await Promise.all([
      // Its data end with the demo, so they may be unsafe: nothing here pulls the plug of the machine.
      startDevPostgres({ purpose: 'test' }).then((server) => {
        closing.push(() => server.stop())
        return server
      }),
      openOutside().then((opened) => {
        closing.push(() => opened.close())
        return opened
      }),
    ])
    const foothold = await connect(postgres.url, { logger: 'silent', poolSize: 4 })
    closing.push(() => foothold.close())
    const pool = new pg.Pool({ connectionString: postgres.url, max: 2 })
    pool.on('error', () => undefined)
    closing.push(() => pool.end())
    return { databaseUrl: postgres.url, foothold, pool, outside, close }
  } catch (error) {
    await close()
    throw error
  }
}
