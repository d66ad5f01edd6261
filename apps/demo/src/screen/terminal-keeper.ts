import { spawn } from 'node:child_process'

/**
 * A process that is killed cannot give its terminal back. A shell that reads our pipe does it instead: a line says that
 * all is well, an end without one that we are gone. In our session, so that the terminal is its own too; from the
 * background, where writing its settings would stop it unless it ignores that.
 */
export function keepTerminal(close: string): { release(): void } {
  const script = 'trap "" INT TERM HUP TTOU; read -r _ || { printf %s "$1"; stty sane < /dev/tty; }'
  const keeper = spawn('/bin/sh', ['-c', script, 'keep-terminal', close], { stdio: ['pipe', 'inherit', 'ignore'] })
  // Without a shell there is no keeper, and nothing else changes.
  keeper.on('error', () => undefined)
  keeper.stdin?.on('error', () => undefined)
  return { release: () => void keeper.stdin?.end('released\n') }
}
