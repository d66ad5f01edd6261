import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { freePorts } from '../../../tools/free-ports.ts'

/** Debian's, which has the packages that .ci/run installs. */
export const PYTHON = '/usr/bin/python3'
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

export interface Process {
  readonly pid: number
  readonly hasExited: () => boolean
  kill(): Promise<void>
}

/** Killed with the test, whatever happens. */
function start(command: string, args: readonly string[], env: Record<string, string>): Process {
  const child: ChildProcess = spawn(command, args, { env: { ...process.env, ...env }, cwd: ROOT, stdio: 'pipe' })
  const exited = once(child, 'exit')
  let said = ''
  child.stderr?.on('data', (text) => {
    said = `${said}${String(text)}`.slice(-4_000)
  })
  child.stdout?.resume()
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') console.error(said)
    await kill()
  })
  if (child.pid === undefined) throw new Error(`${command} did not start`)
  return { pid: child.pid, hasExited: () => child.exitCode !== null || child.signalCode !== null, kill }
}

/** Resolves with its address when it answers. */
export async function startService(databaseUrl: string, seed: number): Promise<string> {
  const [port] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  const service = start(PYTHON, ['test/system/fastapi/faulty_service.py'], {
    DATABASE_URL: databaseUrl,
    PORT: String(port),
    SEED: String(seed),
  })
  for (;;) {
    const isUp = await fetch(`${url}/calls`).then(
      (answer) => answer.ok,
      () => false,
    )
    if (isUp) return url
    if (service.hasExited()) throw new Error('the service ended while it started')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

export function startWorker(databaseUrl: string, serviceUrl: string, heartbeatMs: number): Process {
  return start(process.execPath, ['--conditions=@foothold/source', '--import', 'tsx', 'examples/fastapi/worker.ts'], {
    DATABASE_URL: databaseUrl,
    SERVICE_URL: serviceUrl,
    HEARTBEAT_MS: String(heartbeatMs),
  })
}
