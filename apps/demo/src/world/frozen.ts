import { spawn } from 'node:child_process'

/**
 * Stops a process and holds it until `wake`. The one who holds it is a shell that reads our pipe: should the demo die
 * first, the pipe ends, and the process is woken to see for itself that it is alone.
 */
export function freeze(pid: number): { wake(): Promise<void> } {
  const script = 'trap "" INT TERM HUP; kill -STOP "$1"; read -r _; kill -CONT "$1"'
  const holder = spawn('/bin/sh', ['-c', script, 'freeze', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  const gone = new Promise<void>((resolve) => {
    holder.once('exit', () => resolve())
    holder.once('error', () => resolve())
  })
  return {
    async wake() {
      holder.stdin.end('\n')
      await gone
    },
  }
}
