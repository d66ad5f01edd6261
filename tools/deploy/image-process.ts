import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readDeployFile } from './deploy-files.ts'
import { instructionsOf, lastOf, parseDockerfile } from './dockerfile.ts'

export interface ImageProcess {
  readonly lines: readonly string[]
  said(form: RegExp): Promise<string>
  /** The exit code, once it and its output have ended. */
  readonly ended: Promise<number | null>
  /** Reaches the command itself, whatever was started around it. */
  kill(signal: NodeJS.Signals): void
}

export interface ImageCommands {
  readonly start: readonly string[]
  readonly health: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

/** What the Dockerfile says of a target, for those who play the container engine. */
export function commandsOf(target: string): ImageCommands {
  const instructions = instructionsOf(parseDockerfile(readDeployFile('Dockerfile')), target)
  const execOf = (keyword: string): readonly string[] => {
    const exec = lastOf(instructions, keyword)?.exec
    if (exec == null) throw new Error(`${target} has no ${keyword} in exec form.`)
    return exec
  }
  const words = instructions.filter(({ keyword }) => keyword === 'ENV').flatMap((env) => env.words)
  return {
    start: execOf('CMD'),
    health: execOf('HEALTHCHECK'),
    environment: Object.fromEntries(words.map((word) => word.split(/=(.*)/s).slice(0, 2) as [string, string])),
  }
}

/** Nothing of this process's own environment but the path enters. */
export function environmentOf(
  target: string,
  settings: Readonly<Record<string, string>>,
): Record<string, string | undefined> {
  return { PATH: process.env['PATH'], ...commandsOf(target).environment, ...settings }
}

/** Beside others on this machine, as whoever runs the tests. */
export async function startPlain(
  image: string,
  target: string,
  settings: Readonly<Record<string, string>>,
): Promise<ImageProcess> {
  const [command = '', ...args] = commandsOf(target).start
  const child = spawn(command, args, {
    cwd: join(image, 'app'),
    env: environmentOf(target, settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await once(child, 'spawn')
  return follow(child)
}

/** The child dies with unshare; `--pdeathsig keep` below carries that over the change of user. */
const UNSHARE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child=KILL'] as const
/** What a container's process sees: it is PID 1, nobody of importance, and its file system is read-only. */
const ENTER = `mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0/app" &&
  exec setpriv --pdeathsig keep --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all "$@"`

/** Root of a container may not make namespaces, and a node below somebody's home is not everybody's to run. */
export function canStartAsPidOne(): boolean {
  const [unshare, ...flags] = UNSHARE
  const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', 'node', '--version']
  return spawnSync(unshare, [...flags, ...nobody], { stdio: 'ignore' }).status === 0
}

export async function startAsPidOne(
  image: string,
  target: string,
  settings: Readonly<Record<string, string>>,
): Promise<ImageProcess> {
  const [unshare, ...flags] = UNSHARE
  const child = spawn(unshare, [...flags, 'sh', '-c', ENTER, image, ...commandsOf(target).start], {
    env: environmentOf(target, settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await once(child, 'spawn')
  const outside = follow(child)
  let isOver = false
  void outside.ended.then(() => {
    isOver = true
  })
  return {
    ...outside,
    kill(signal) {
      // By then the number may be another's.
      if (!isOver) process.kill(childOf(child.pid ?? 0), signal)
    },
  }
}

/** Signals sent to unshare would not reach the one that it waits for. */
function childOf(pid: number): number {
  const [child = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return child === '' ? pid : Number(child)
}

/** The health check's exit code; its output is in the answer for the one who has to find out why. */
export function checkHealth(
  image: string,
  target: string,
  settings: Readonly<Record<string, string>>,
): Promise<{ readonly code: number; readonly output: string }> {
  const [command = '', ...args] = commandsOf(target).health
  return new Promise((resolve) => {
    const options = { cwd: join(image, 'app'), env: environmentOf(target, settings) }
    execFile(command, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr })
    })
  })
}

function follow(child: ChildProcess): ImageProcess {
  const lines: string[] = []
  const changed = new EventTarget()
  let isOver = false
  for (const input of [child.stdout, child.stderr]) {
    if (input === null) continue
    createInterface({ input }).on('line', (line) => {
      lines.push(line)
      changed.dispatchEvent(new Event('change'))
    })
  }
  const ended = once(child, 'close').then(([code]) => {
    isOver = true
    changed.dispatchEvent(new Event('change'))
    return code as number | null
  })
  return {
    lines,
    ended,
    kill: (signal) => void child.kill(signal),
    async said(form) {
      for (;;) {
        const found = lines.find((line) => form.test(line))
        if (found !== undefined) return found
        if (isOver) throw new Error(`It ended without a line like ${form}:\n${lines.join('\n')}`)
        await new Promise((resolve) => changed.addEventListener('change', resolve, { once: true }))
      }
    },
  }
}
