import { createHash, randomBytes } from 'node:crypto'
import pg from 'pg'
import { grantStatements } from '../store/grants.ts'
import { checksumOf, migrate } from '../store/migrate.ts'
import { MIGRATIONS } from '../store/migrations/embedded.ts'
import { sqlState } from '../store/sqlstate.ts'

/** A database of its own for a test file: NOTIFY channels and advisory locks are per database, so a schema is not enough. */
export interface TestDatabase {
  readonly url: string
  /** Of the one who made it; the same as `url` unless a role was given. */
  readonly ownerUrl: string
  /** Ends the sessions that are still connected. Safe to call twice. */
  drop(): Promise<void>
}

/** Any number that no other code in the admin database locks. */
const TEMPLATE_LOCK = 7_381_240
const NO_SUCH_DATABASE = '3D000'

export interface TestDatabaseOptions {
  /**
   * `url` is then this role's, with the rights of `foothold migrate --grant-to` and no right to create anything: your tests run
   * as production does. The role is made when it is missing, which needs CREATEROLE.
   */
  readonly role?: string | undefined
}

/** Clones a migrated template, made once per server and schema; some 50 ms. The role of `adminUrl` needs CREATEDB. */
export async function createTestDatabase(adminUrl: string, { role }: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const name = `foothold_test_${process.pid}_${randomBytes(4).toString('hex')}`
  await withAdmin(adminUrl, async (admin) => {
    if (await clone(admin, name, role)) return
    // A session lock: it ends with this session, whatever happens in between.
    await admin.query(`select pg_advisory_lock(${TEMPLATE_LOCK})`)
    if (await clone(admin, name, role)) return
    await buildTemplate(admin, adminUrl, role)
    await clone(admin, name, role)
  })
  const url = urlOf(adminUrl, name)
  return {
    url: role === undefined ? url : urlAs(url, role),
    ownerUrl: role === undefined ? url : inPublic(url),
    drop: () =>
      withAdmin(adminUrl, async (admin) => {
        await admin.query(`drop database if exists ${name} with (force)`)
      }),
  }
}

function templateName(role: string | undefined): string {
  const contents = [...MIGRATIONS.map(checksumOf), ...(role === undefined ? [] : grantStatements(role))].join()
  return `foothold_template_${createHash('sha256').update(contents).digest('hex').slice(0, 12)}`
}

/** Built under another name: whatever bears the template's name is complete, and nobody is ever connected to it. */
async function buildTemplate(admin: pg.Client, adminUrl: string, role: string | undefined): Promise<void> {
  const draft = `${templateName(role)}_draft`
  await admin.query(`drop database if exists ${draft} with (force)`)
  await admin.query(`create database ${draft}`)
  const url = urlOf(adminUrl, draft)
  await migrate({ url })
  if (role !== undefined) await withAdmin(url, (owner) => admit(owner, url, role))
  // The server itself waits some seconds here for sessions that are just ending.
  await admin.query(`alter database ${draft} rename to ${templateName(role)}`)
}

/** What the owner makes later, for a test, is the role's to use, as its own application's tables are. */
async function admit(owner: pg.Client, ownerUrl: string, role: string): Promise<void> {
  const name = owner.escapeIdentifier(role)
  const found = await owner.query('select 1 from pg_roles where rolname = $1', [role])
  const password = owner.escapeLiteral(passwordOf(ownerUrl, role))
  await owner.query(`${found.rowCount === 0 ? 'create' : 'alter'} role ${name} login password ${password}`)
  for (const statement of grantStatements(role)) await owner.query(statement)
  // Servers before 15 let everybody create there.
  await owner.query('revoke create on schema public from public')
  for (const rights of ['usage on schemas', 'all on tables', 'all on sequences']) {
    await owner.query(`alter default privileges grant ${rights} to ${name}`)
  }
}

/** An owner called `foothold` would find the schema of that name first, and leave a test's tables there. */
function inPublic(ownerUrl: string): string {
  const url = new URL(ownerUrl)
  url.searchParams.set('options', '-c search_path=public')
  return url.href
}

/** The same in every process of a run, and no secret to whoever knows the owner's. */
function passwordOf(ownerUrl: string, role: string): string {
  const { username, password } = new URL(ownerUrl)
  return createHash('sha256')
    .update(JSON.stringify([username, password, role]))
    .digest('hex')
}

function urlAs(ownerUrl: string, role: string): string {
  const url = new URL(ownerUrl)
  url.username = role
  url.password = passwordOf(ownerUrl, role)
  return url.href
}

async function clone(admin: pg.Client, name: string, role: string | undefined): Promise<boolean> {
  const version = await admin.query<{ server_version_num: string }>('show server_version_num')
  // Copying files is faster than logging every page; servers before 15 know no other way.
  const strategy = Number(version.rows[0]?.server_version_num) >= 150_000 ? 'strategy file_copy' : ''
  try {
    await admin.query(`create database ${name} template ${templateName(role)} ${strategy}`)
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
