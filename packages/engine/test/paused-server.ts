import { readdirSync, readFileSync } from 'node:fs'

/** SIGSTOP to all processes of a database server: it keeps its connections and answers nobody. Returns what wakes it. */
export function pauseServer(pid: number): () => void {
  const pids = [pid, ...childrenOf(pid)]
  for (const one of pids) signal(one, 'SIGSTOP')
  return () => {
    for (const one of new Set([...pids, ...childrenOf(pid)])) signal(one, 'SIGCONT')
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => parentOf(child) === pid)
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return null
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // Ended meanwhile.
  }
}
