import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { until } from '../e2e/world.ts'
import { freePorts } from './debian-programs.ts'

/** A PgBouncer in transaction mode before a database: with each statement perhaps another server process. */
export async function startPgBouncer(databaseUrl: string): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const target = new URL(databaseUrl)
  const [port = 0] = await freePorts(1)
  const folder = await mkdtemp(join(tmpdir(), 'foothold-pgbouncer-'))
  const [user, password] = [decodeURIComponent(target.username), decodeURIComponent(target.password)]
  await writeFile(join(folder, 'users.txt'), `"${user}" "${password}"\n`)
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    [
      '[databases]',
      `* = host=${target.hostname} port=${target.port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'pool_mode = transaction',
      'auth_type = plain',
      `auth_file = ${join(folder, 'users.txt')}`,
      'default_pool_size = 10',
      'max_client_conn = 200',
    ].join('\n'),
  )
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0
  if (isRoot) for (const name of ['', 'users.txt', 'pgbouncer.ini']) await chown(join(folder, name), 65_534, 65_534)
  const child = spawn('pgbouncer', [...(isRoot ? ['-u', 'nobody'] : []), join(folder, 'pgbouncer.ini')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  await until('PgBouncer answers', async () => {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}:\n${log}`)
    const client = new pg.Client({ connectionString: url.href })
    client.on('error', () => undefined)
    const answers = await client.connect().then(
      () => true,
      () => false,
    )
    await client.end().catch(() => undefined)
    return answers
  })
  return {
    url: url.href,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const exited = once(child, 'exit')
        child.kill('SIGKILL')
        await exited
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}
