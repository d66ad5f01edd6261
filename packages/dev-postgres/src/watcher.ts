import { type ChildProcess, spawn } from 'node:child_process'
import { CHILD_ENVIRONMENT } from './binaries.ts'

// Waits for the end of its input, which comes when our process is gone, however it went. It reads the pid then, not
// earlier, because a test may have restarted the server. Immediate shutdown is right: the data go too.
const SCRIPT = `
trap '' INT TERM HUP
read -r _
if read -r pid < "$1/data/postmaster.pid"; then
  kill -QUIT "$pid" && tries=100
  while [ "\${tries:-0}" -gt 0 ] && kill -0 "$pid"; do tries=$((tries - 1)); sleep 0.1; done
fi
rm -rf -- "$1"
`

/** A shell of one megabyte that ends a test server and removes its folder when this process dies, even by kill -9. */
export function watchOver(home: string): { release(): void } {
  const watcher: ChildProcess = spawn('/bin/sh', ['-c', SCRIPT, 'foothold-test-postgres', home], {
    cwd: '/',
    env: CHILD_ENVIRONMENT,
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watcher.unref()
  const input = watcher.stdin
  // Neither a missing shell nor a killed watcher may end the program: the next start sweeps what is left.
  watcher.on('error', () => {})
  input?.on('error', () => {})
  if (input !== null && 'unref' in input && typeof input.unref === 'function') input.unref()
  return { release: () => void input?.end() }
}
