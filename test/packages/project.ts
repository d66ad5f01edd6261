import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { inject, onTestFinished } from 'vitest'

export interface Project {
  readonly folder: string
  /** Runs to its end; gives what it printed. A failure shows it too. */
  run(command: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>
  remove(): Promise<void>
}

type Versions = Readonly<Record<string, string>>

/**
 * A copy of projects/<name> in an empty folder outside this repository, with our packages from their tarballs, and
 * other packages in other versions where `versions` has some.
 */
export async function installProject(name: string, versions: Versions = {}): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), `foothold-${name}-`))
  await cp(fileURLToPath(new URL(`projects/${name}`, import.meta.url)), folder, { recursive: true })
  const path = join(folder, 'package.json')
  const {
    dependencies,
    devDependencies = {},
    ...manifest
  } = JSON.parse(await readFile(path, 'utf8')) as {
    dependencies: Versions
    devDependencies?: Versions
  }
  const chosen = {
    ...manifest,
    dependencies: choose(dependencies, versions),
    devDependencies: choose(devDependencies, versions),
  }
  await writeFile(path, JSON.stringify(chosen, null, 2))
  const project = { folder, run, remove: () => rm(folder, { recursive: true, force: true }) }
  async function run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const running = promisify(execFile)(command, args, { cwd: folder, env: cleanEnvironment(env), maxBuffer: 2 ** 26 })
    const { stdout, stderr } = await running.catch((error: { stdout?: string; stderr?: string; message: string }) => {
      throw new Error(`${error.message}\n${error.stdout ?? ''}\n${error.stderr ?? ''}`)
    })
    return stdout + stderr
  }
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'])
  return project
}

function choose(dependencies: Versions, versions: Versions): Versions {
  const tarballs = inject('tarballs')
  const chosen = Object.entries(dependencies).map(([name, version]) => {
    return [name, tarballs[name] === undefined ? (versions[name] ?? version) : `file:${tarballs[name]}`] as const
  })
  return Object.fromEntries(chosen)
}

/** Nothing of the test runner's own settings: these are other people's projects. */
function cleanEnvironment(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env
  return { PATH, HOME, TMPDIR, CI: 'true', ...env }
}

export interface Program {
  readonly pid: number
  readonly lines: readonly string[]
  /** Resolves with the line; rejects when the program ends without it. */
  said(text: string): Promise<string>
  kill(signal: NodeJS.Signals): void
  readonly exit: Promise<number | null>
}

/** Kills a program once it has said this, and starts it anew. */
export async function killedAndStartedAnew(start: () => Program, text: string): Promise<readonly [Program, Program]> {
  const first = start()
  await first.said(text)
  first.kill('SIGKILL')
  await first.exit
  return [first, start()]
}

/** A program that may live long; whatever the test does, it does not outlive it. */
export function startProgram(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Program {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: cleanEnvironment(options.env ?? {}),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      for (const look of waiting) look()
    })
  }
  const exit = once(child, 'close').then(([code]) => code as number | null)
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    pid: child.pid ?? 0,
    lines,
    exit,
    kill: (signal) => void child.kill(signal),
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const line = lines.find((candidate) => candidate.includes(text))
          if (line === undefined) return
          waiting.delete(look)
          resolve(line)
        }
        waiting.add(look)
        look()
        void exit.then((code) => {
          reject(new Error(`it ended with ${code} and never said "${text}":\n${lines.join('\n')}`))
        })
      }),
  }
}
