import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { until } from '../e2e/world.ts'

/** Whether a program is there; says so once where it is not, since its tests are skipped then. */
export function has(program: string): boolean {
  if (spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined) return true
  console.warn(`skipped: ${program} is not installed (apt-get install prometheus prometheus-alertmanager)`)
  return false
}

export interface RunningProgram {
  readonly url: string
  stop(): Promise<void>
}

/** Starts a server of Go's kind and waits until it says that it is ready. */
export async function startProgram(program: string, port: number, args: readonly string[]): Promise<RunningProgram> {
  const child = spawn(program, [...args, `--web.listen-address=127.0.0.1:${port}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  const url = `http://127.0.0.1:${port}`
  try {
    await until(`${program} is ready`, async () => {
      if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}:\n${log}`)
      return (await fetch(`${url}/-/ready`).catch(() => null))?.ok === true
    })
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  return { url, stop: () => stopped(child) }
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
