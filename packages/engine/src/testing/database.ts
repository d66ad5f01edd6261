import { createHash, randomBytes } from 'node:crypto'
import pg from 'pg'
import { checksumOf, migrate } from '../store/migrate.ts'
import { MIGRATIONS } from '../store/migrations/embedded.ts'
import { sqlState } from '../store/sqlstate.ts'

/** A database of its own for a test file: NOTIFY channels and advisory locks are per database, so a schema is not enough. */
export interface TestDatabase {
  readonly url: string
  /** Ends the sessions that are still connected. Safe to call twice. */
  drop(): Promise<void>
}

/** Any number that no other code in the admin database locks. */
const TEMPLATE_LOCK = 7_381_240
const NO_SUCH_DATABASE = '3D000'

/** Clones a migrated template, made once per server and schema; some 50 ms. The role of `adminUrl` needs CREATEDB. */
export async function createTestDatabase(adminUrl: string): Promise<TestDatabase> {
  const name = `foothold_test_${process.pid}_${randomBytes(4).toString('hex')}`
  await withAdmin(adminUrl, async (admin) => {
    if (await clone(admin, name)) return
    // A session lock: it ends with this session, whatever happens in between.
    await admin.query(`select pg_advisory_lock(${TEMPLATE_LOCK})`)
    if (await clone(admin, name)) return
    await buildTemplate(admin, adminUrl)
    await clone(admin, name)
  })
  return {
    url: urlOf(adminUrl, name),
    drop: () =>
      withAdmin(adminUrl, async (admin) => {
        await admin.query(`drop database if exists ${name} with (force)`)
      }),
  }
}

function templateName(): string {
  const checksums = MIGRATIONS.map(checksumOf).join()
  return `foothold_template_${createHash('sha256').update(checksums).digest('hex').slice(0, 12)}`
}

/** Built under another name: whatever bears the template's name is complete, and nobody is ever connected to it. */
async function buildTemplate(admin: pg.Client, adminUrl: string): Promise<void> {
  const draft = `${templateName()}_draft`
  await admin.query(`drop database if exists ${draft} with (force)`)
  await admin.query(`create database ${draft}`)
  await migrate({ url: urlOf(adminUrl, draft) })
  // The server itself waits some seconds here for sessions that are just ending.
  await admin.query(`alter database ${draft} rename to ${templateName()}`)
}

async function clone(admin: pg.Client, name: string): Promise<boolean> {
  const version = await admin.query<{ server_version_num: string }>('show server_version_num')
  // Copying files is faster than logging every page; servers before 15 know no other way.
  const strategy = Number(version.rows[0]?.server_version_num) >= 150_000 ? 'strategy file_copy' : ''
  try {
    await admin.query(`create database ${name} template ${templateName()} ${strategy}`)
    return true
  } catch (error) {
    if (sqlState(error) === NO_SUCH_DATABASE) return false
    throw error
  }
}

function urlOf(adminUrl: string, database: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${database}`
  return url.href
}

async function withAdmin<T>(url: string, use: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: url, application_name: 'foothold testing' })
  await admin.connect()
  try {
    return await use(admin)
  } finally {
    await admin.end()
  }
}
