import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startDevPostgres } from '@foothold/dev-postgres'
import { connect } from 'foothold'

/** The Python service and two workers, each a process of its own. A worker that is killed is started again, as platforms do. */

const postgres = process.env['DATABASE_URL'] ? null : await startDevPostgres({ log: console.log })
const url = process.env['DATABASE_URL'] ?? (postgres?.url as string)
// The service calls functions of the schema, so that has to stand first.
await (await connect(url)).close()

const env = { ...process.env, DATABASE_URL: url, PORT: process.env['PORT'] ?? '8000', HEARTBEAT_MS: '1000' }
const children = new Set<ChildProcess>()
let isStopping = false

function start(name: string, command: string, args: readonly string[]): void {
  const child = spawn(command, args, {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    env: { ...env, SERVICE_URL: `http://127.0.0.1:${env.PORT}` },
    stdio: ['ignore', 'inherit', 'ignore'],
  })
  children.add(child)
  console.log(`${name} runs as ${child.pid}`)
  child.once('exit', (code, signal) => {
    children.delete(child)
    if (isStopping) return
    console.log(`${name} ended (${signal ?? code})`)
    if (signal !== null) start(name, command, args)
    else process.kill(process.pid, 'SIGTERM')
  })
}

start('the service', process.env['PYTHON'] ?? 'python3', ['service.py'])
for (const name of ['worker 1', 'worker 2']) start(name, process.execPath, [...process.execArgv, 'worker.ts'])
console.log(`http://127.0.0.1:${env.PORT}/docs shows what to ask; Ctrl-C ends it all.`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
isStopping = true
await Promise.all(
  [...children].map((child) => {
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    return exited
  }),
)
await postgres?.stop()
