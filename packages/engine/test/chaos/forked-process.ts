import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface WorkerProcess {
  readonly pid: number
  /** What it has told so far: log lines and the steps it began. */
  readonly told: readonly Record<string, unknown>[]
  kill(signal: NodeJS.Signals): void
  /** Resolves when it has told this. */
  tells(what: (message: Record<string, unknown>) => boolean, timeoutMs?: number): Promise<Record<string, unknown>>
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}

export interface ForkedProcess extends WorkerProcess {
  send(message: object): void
}

/** Runs one of these tests' own modules, from source or built, in a process of its own; the first argument is JSON. */
export function forkProcess(
  entry: URL | string,
  settings: object,
  {
    env,
    onTold,
  }: { readonly env?: NodeJS.ProcessEnv; readonly onTold?: (message: Record<string, unknown>) => void } = {},
): ForkedProcess {
  const path = typeof entry === 'string' ? entry : fileURLToPath(entry)
  const child = fork(path, [JSON.stringify(settings)], {
    execArgv: path.endsWith('.ts') ? ['--conditions=@foothold/source', '--import', 'tsx'] : [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    ...(env === undefined ? {} : { env: { ...process.env, ...env } }),
  })
  if (child.pid === undefined) throw new Error('The worker process did not start.')
  const told: Record<string, unknown>[] = []
  const listeners = new Set<() => void>()
  child.on('message', (message) => {
    onTold?.(message as Record<string, unknown>)
    // Whoever listens as it comes wants no record of an hour's log.
    if (onTold === undefined) told.push(message as Record<string, unknown>)
    for (const listener of listeners) listener()
  })
  // A message to a process that has just been killed.
  child.on('error', () => undefined)
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  return {
    pid: child.pid,
    told,
    kill: (signal) => void child.kill(signal),
    send: (message) => void (child.connected && child.send(message, () => undefined)),
    exited,
    tells: (what, timeoutMs = 20_000) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const message = told.find(what)
          if (message === undefined) return
          clearTimeout(timer)
          listeners.delete(look)
          resolve(message)
        }
        const timer = setTimeout(
          () => reject(new Error(`Told in ${timeoutMs} ms only: ${JSON.stringify(told)}`)),
          timeoutMs,
        )
        listeners.add(look)
        look()
      }),
  }
}
