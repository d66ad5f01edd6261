import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'

/** PgBouncer in transaction mode, from Debian's package; as root it runs as nobody, whom it wants to be somebody else. */

const PROGRAM = '/usr/sbin/pgbouncer'

export interface PgBouncer {
  /** Of the same database, through it. */
  readonly url: string
  stop(): Promise<void>
}

export function isPgBouncerInstalled(): boolean {
  return existsSync(PROGRAM)
}

export async function startPgBouncer(targetUrl: string): Promise<PgBouncer> {
  const target = new URL(targetUrl)
  const port = await freePort()
  const home = mkdtempSync(join(tmpdir(), 'foothold-pgbouncer-'))
  chmodSync(home, 0o755)
  const file = join(home, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
* = host=${target.hostname} port=${target.port} user=${target.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 40
max_client_conn = 500
ignore_startup_parameters = extra_float_digits,options,statement_timeout
server_login_retry = 1
`,
    { mode: 0o644 },
  )
  const child = spawn(PROGRAM, [...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []), file], { stdio: 'ignore' })
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const url = new URL(targetUrl)
  url.port = String(port)
  await answers(url.href, child)
  return {
    url: url.href,
    async stop() {
      child.kill('SIGINT')
      const impatient = setTimeout(() => child.kill('SIGKILL'), 2_000)
      await exited
      clearTimeout(impatient)
      rmSync(home, { recursive: true, force: true })
    },
  }
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 100 && child.exitCode === null; tries += 1) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query('select 1')
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100))
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  throw new Error('PgBouncer did not start.')
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise<void>((resolve) => server.close(() => resolve()))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
