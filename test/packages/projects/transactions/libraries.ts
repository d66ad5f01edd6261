import { PrismaPg } from '@prisma/adapter-pg'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleOnPostgresJs } from 'drizzle-orm/postgres-js'
import type { Queryable } from 'foothold'
import { fromDrizzle, fromKnex, fromKysely, fromPostgresJs, fromPrisma, fromTypeOrm } from 'foothold/transactions'
import knex from 'knex'
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { DataSource } from 'typeorm'
import { PrismaClient } from './generated/client.js'

/** One transaction of the library: a row of its own, then whatever `work` does; an error of `work` rolls both back. */
type Transact = (orderId: number, work: (transaction: Queryable) => Promise<void>) => Promise<void>

interface Library {
  readonly transact: Transact
  close(): Promise<unknown>
}

const INSERT = 'заказ'

export const libraries: Record<string, (url: string) => Promise<Library>> = {
  async pg(url) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return {
      async transact(id, work) {
        await client.query('begin')
        try {
          await client.query('insert into orders (id, text) values ($1, $2)', [id, INSERT])
          await work(client)
          await client.query('commit')
        } catch (error) {
          await client.query('rollback')
          throw error
        }
      },
      close: () => client.end(),
    }
  },

  async drizzle(url) {
    const pool = new pg.Pool({ connectionString: url })
    const db = drizzle(pool)
    return {
      transact: (id, work) =>
        db.transaction(async (tx) => {
          await tx.execute(drizzleSql`insert into orders (id, text) values (${id}, ${INSERT})`)
          await work(fromDrizzle(tx, drizzleSql))
        }),
      close: () => pool.end(),
    }
  },

  async 'drizzle on postgres.js'(url) {
    const client = postgres(url)
    const db = drizzleOnPostgresJs(client)
    return {
      transact: (id, work) =>
        db.transaction(async (tx) => {
          await tx.execute(drizzleSql`insert into orders (id, text) values (${id}, ${INSERT})`)
          await work(fromDrizzle(tx, drizzleSql))
        }),
      close: () => client.end(),
    }
  },

  async prisma(url) {
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
    return {
      transact: (id, work) =>
        prisma.$transaction(async (tx) => {
          await tx.order.create({ data: { id, text: INSERT } })
          await work(fromPrisma(tx))
        }),
      close: () => prisma.$disconnect(),
    }
  },

  async kysely(url) {
    const db = new Kysely<{ orders: { id: number; text: string } }>({
      dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }),
      plugins: [new CamelCasePlugin()],
    })
    return {
      transact: (id, work) =>
        db.transaction().execute(async (trx) => {
          await trx.insertInto('orders').values({ id, text: INSERT }).execute()
          await work(fromKysely(trx))
        }),
      close: () => db.destroy(),
    }
  },

  async knex(url) {
    const db = knex({ client: 'pg', connection: url })
    return {
      transact: (id, work) =>
        db.transaction(async (trx) => {
          await trx('orders').insert({ id, text: INSERT })
          await work(fromKnex(trx))
        }),
      close: () => db.destroy(),
    }
  },

  async 'postgres.js'(url) {
    const client = postgres(url)
    return {
      async transact(id, work) {
        await client.begin(async (sql) => {
          await sql`insert into orders (id, text) values (${id}, ${INSERT})`
          await work(fromPostgresJs(sql))
        })
      },
      close: () => client.end(),
    }
  },

  async typeorm(url) {
    const source = await new DataSource({ type: 'postgres', url }).initialize()
    return {
      transact: (id, work) =>
        source.transaction(async (manager) => {
          await manager.query('insert into orders (id, text) values ($1, $2)', [id, INSERT])
          await work(fromTypeOrm(manager))
        }),
      close: () => source.destroy(),
    }
  },
}
