import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startDevPostgres } from '@foothold/dev-postgres'
import { connect, type TaskId } from 'foothold'

/**
 * From the blow to the moment in which the task's code runs in another worker, at defaults.
 * `npm run bench:recovery -- [--rounds 50] [--signal SIGKILL|SIGSTOP] [--lifeline on|off] [--workers 3]`
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    signal: { type: 'string', default: 'SIGKILL' },
    lifeline: { type: 'string', default: 'on' },
    workers: { type: 'string', default: '3' },
  },
})
const rounds = Number(values.rounds)
/** A lookout trusts one quick second look when its session is ten seconds old. */
const STEADY_MS = 14_000
/** Its lifeline has been seen by then. */
const UP_MS = 3_000

interface Life {
  readonly child: ChildProcess
  readonly startedAtMs: number
}

interface Running {
  readonly life: Life
  readonly task: string
  readonly atMs: number
}

const dataDir = join(process.cwd(), '.foothold', 'recovery')
await rm(dataDir, { recursive: true, force: true })
const postgres = await startDevPostgres({ dataDir })
const foothold = await connect(postgres.url, { logger: 'silent' })
const lives = new Set<Life>()
const runs: Running[] = []
let look: () => void = () => undefined
try {
  await Promise.all(Array.from({ length: Number(values.workers) }, start))
  const took: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const { id } = await foothold.submit('answer', null)
    const first = await ranIn(id, () => true)
    const isReady = (): boolean => steadyOnes(first.life).length > 0 && Date.now() - first.life.startedAtMs > UP_MS
    await waitFor(() => isReady() || null)
    const struckAtMs = Date.now()
    first.life.child.kill(values.signal as NodeJS.Signals)
    const second = await ranIn(id, ({ life }) => life !== first.life)
    took.push(second.atMs - struckAtMs)
    console.error(`${round}/${rounds}: ${second.atMs - struckAtMs} ms`)
    second.life.child.send('finish')
    await foothold.handle(id).result({ timeoutMs: 30_000 })
    await end(first.life)
    await start()
  }
  print(took.toSorted((a, b) => a - b))
} finally {
  await Promise.all([...lives].map(end))
  await foothold.close()
  await postgres.stop()
}

async function start(): Promise<void> {
  const child = fork(join(import.meta.dirname, 'worker.ts'), [postgres.url, values.lifeline], {
    execArgv: ['--conditions=@foothold/source', '--import', 'tsx'],
  })
  const life = { child, startedAtMs: Date.now() }
  lives.add(life)
  await new Promise<void>((resolve) => {
    child.on('message', (message: { readonly running?: string; readonly started?: string; readonly atMs?: number }) => {
      if (message.started !== undefined) resolve()
      else runs.push({ life, task: message.running ?? '', atMs: message.atMs ?? 0 })
      look()
    })
  })
}

async function end(life: Life): Promise<void> {
  lives.delete(life)
  if (life.child.exitCode !== null || life.child.signalCode !== null) return
  const exited = once(life.child, 'exit')
  life.child.kill('SIGKILL')
  await exited
}

function steadyOnes(victim: Life): readonly Life[] {
  return [...lives].filter((life) => life !== victim && Date.now() - life.startedAtMs > STEADY_MS)
}

async function ranIn(task: TaskId, where: (run: Running) => boolean): Promise<Running> {
  return waitFor(() => runs.find((run) => run.task === task && where(run)) ?? null)
}

/** Looks again at every message, and now and then without one. */
async function waitFor<T>(what: () => T | null): Promise<T> {
  for (;;) {
    const found = what()
    if (found !== null) return found
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 100)
      look = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

function print(sorted: readonly number[]): void {
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  console.log(
    `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, PostgreSQL at defaults\n`,
  )
  console.log('| blow | lifeline | rounds | median ms | p95 ms | slowest ms |')
  console.log('| --- | --- | ---: | ---: | ---: | ---: |')
  const figures = [rounds, at(0.5), at(0.95), sorted.at(-1) ?? 0]
  console.log(`| ${values.signal} | ${values.lifeline} | ${figures.join(' | ')} |`)
}
