import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A worker of the application from its built code, by the command of its image. */
export interface BuiltWorker {
  readonly pid: number
  readonly spawnedAtMs: number
  stop(): void
  /** Its exit code. */
  readonly exited: Promise<number | null>
  /** In any state. */
  end(): Promise<void>
}

/** Resolves when it takes tasks. */
export async function startBuiltWorker(
  root: string,
  environment: Readonly<Record<string, string>>,
): Promise<BuiltWorker> {
  const spawnedAtMs = Date.now()
  const child = spawn(process.execPath, ['apps/support-agent/dist/main.js', 'worker'], {
    cwd: root,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lines: string[] = []
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  const isStarted = new Promise<void>((resolve) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line)
      if (line.includes('"worker started"')) resolve()
    })
  })
  await Promise.race([
    isStarted,
    exited.then((code) => {
      throw new Error(`the worker ended with ${code} before it had started:\n${lines.join('\n')}`)
    }),
  ])
  return {
    pid: child.pid as number,
    spawnedAtMs,
    stop: () => void child.kill('SIGTERM'),
    exited,
    async end() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
