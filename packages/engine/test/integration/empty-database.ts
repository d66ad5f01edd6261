import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** A database without the schema. */
export async function createEmptyDatabase(adminUrl: string): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `foothold_empty_${process.pid}_${randomBytes(4).toString('hex')}`
  await admin(adminUrl, `create database ${name}`)
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => admin(adminUrl, `drop database if exists ${name} with (force)`) }
}

async function admin(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
