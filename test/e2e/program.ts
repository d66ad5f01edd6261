import { type ChildProcess, fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { HeldProgramSettings } from './held-program.ts'

/** One process of the application, as production runs it. */
export interface Program {
  readonly pid: number
  /** What it said when it was ready: its worker's id, or its address. */
  readonly ready: Readonly<Record<string, unknown>>
  /** Its log so far, as it stood on stderr. */
  readonly lines: readonly string[]
  /** The task that came to the held point first. */
  readonly held: Promise<string>
  /** Lets the held point go on. */
  release(): void
  /** Resolves when a line of its log has this in it. */
  says(text: string): Promise<void>
  kill(signal: NodeJS.Signals): void
  readonly exited: Promise<Exit>
}

export interface LoadedProgram {
  /** Starts it; resolves when it is ready. */
  go(): Promise<Program>
  /** Ends it in any state; resolves when it is gone. */
  end(): Promise<void>
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** By the clock of this machine, which is the database's too. */
  readonly atMs: number
}

export type Mode = 'worker' | 'server'

const ENTRY = fileURLToPath(new URL('./held-program.ts', import.meta.url))
/** Several processes load from source at once, on a machine that has other things to do. */
const PATIENCE_MS = 60_000

/** Its code is loaded, nothing of it has run. */
export async function loadProgram(
  mode: Mode,
  environment: Readonly<Record<string, string>>,
  settings: HeldProgramSettings,
): Promise<LoadedProgram> {
  const child = fork(ENTRY, [mode, JSON.stringify(settings)], {
    execArgv: ['--conditions=@foothold/source', '--import', 'tsx'],
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const log = readLog(child)
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal, atMs: Date.now() }))
  })
  const tells = (type: string): Promise<Record<string, unknown>> =>
    new Promise((resolve) => {
      child.on('message', (message: { readonly type: string }) => {
        if (message.type === type) resolve({ ...message })
      })
    })
  const soon = async <T>(what: string, happens: Promise<T>): Promise<T> => {
    const failed = (how: string): never => {
      child.kill('SIGKILL')
      throw new Error(`the ${mode} ${how} before it was ${what}:\n${log.lines.join('\n')}`)
    }
    const outcome = await Promise.race([
      happens.then((value) => ({ kind: 'happened', value }) as const),
      exited.then(({ code }) => ({ kind: 'failed', how: `ended with ${code}` }) as const),
      later(PATIENCE_MS).then(() => ({ kind: 'failed', how: `took ${PATIENCE_MS} ms` }) as const),
    ])
    return outcome.kind === 'happened' ? outcome.value : failed(outcome.how)
  }

  const isReady = tells('ready')
  const held = tells('held').then(({ taskId }) => String(taskId))
  await soon('loaded', tells('loaded'))
  return {
    async go() {
      child.send('go')
      const ready = await soon('ready', isReady)
      return {
        pid: child.pid as number,
        ready,
        lines: log.lines,
        held,
        release: () => void child.send('release'),
        says: (text) => soon(`heard to say ${text}`, log.says(text)),
        kill: (signal) => void child.kill(signal),
        exited,
      }
    },
    async end() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

interface Log {
  readonly lines: readonly string[]
  says(text: string): Promise<void>
}

function readLog(child: ChildProcess): Log {
  const lines: string[] = []
  const listeners = new Set<() => void>()
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
    lines.push(line)
    for (const listener of listeners) listener()
  })
  return {
    lines,
    says: (text) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!lines.some((line) => line.includes(text))) return
          listeners.delete(look)
          resolve()
        }
        listeners.add(look)
        look()
      }),
  }
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref()
  })
}
