import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startDevPostgres } from '@foothold/dev-postgres'
import { connect, type Foothold } from 'foothold'
import pg from 'pg'
import { liveAgent } from './live-agent.ts'
import { type Cost, observe } from './observe.ts'

/**
 * What Foothold costs a database: idle, and with 50 tasks at work. One server, one run, so that the rows compare.
 * `npm run bench:database-cost [-- <seconds per row>]`; nothing else should run on the machine.
 */

const SECONDS = Number(process.argv[2] ?? 20)
const LIVE = 50

const postgres = await startDevPostgres({ dataDir: join(process.cwd(), '.foothold', 'database-cost') })
const foothold = await connect(postgres.url, { logger: 'silent' })
const client = new pg.Client({ connectionString: postgres.url })
await client.connect()
const serverPid = await pidOf(client)
const rows: [string, Cost][] = []
const workers: ChildProcess[] = []
try {
  const measure = async (name: string): Promise<void> => {
    rows.push([name, await observe(client, serverPid, SECONDS)])
  }
  await measure('a connected producer, no worker')
  workers.push(await startWorker(foothold, 1))
  await measure('1 worker, idle')
  workers.push(await startWorker(foothold, 2))
  await measure('2 workers, idle')
  const load = keepBusy(foothold)
  await load.isBusy
  await measure(`2 workers, ${LIVE} live tasks`)
  const completed = await load.stop()
  print(rows, completed, await sizes(client))
} finally {
  for (const worker of workers) worker.kill('SIGTERM')
  await Promise.all(workers.filter(({ exitCode }) => exitCode === null).map((worker) => once(worker, 'exit')))
  await client.end()
  await foothold.close()
  await postgres.stop()
}

async function startWorker(on: Foothold, count: number): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    ['--conditions=@foothold/source', '--import', 'tsx', join(import.meta.dirname, 'worker.ts'), postgres.url],
    { stdio: ['ignore', 'inherit', 'inherit'], cwd: fileURLToPath(new URL('../..', import.meta.url)) },
  )
  const active = async (): Promise<number> => (await on.workers()).filter(({ status }) => status === 'active').length
  while ((await active()) < count) await new Promise((resolve) => setTimeout(resolve, 100))
  // The first seconds of idleness are polled more often.
  await new Promise((resolve) => setTimeout(resolve, 6_000))
  return child
}

/** Always LIVE tasks, started over one task's length so that their steps are spread. */
function keepBusy(on: Foothold): { readonly isBusy: Promise<void>; stop(): Promise<number> } {
  let isOver = false
  let completed = 0
  const one = async (delayMs: number): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    while (!isOver) {
      const handle = await on.submit(liveAgent, { text: 'Где мой заказ 5501?' })
      await handle.result()
      completed += 1
    }
  }
  const all = Array.from({ length: LIVE }, (_, n) => one(n * 600))
  return {
    isBusy: new Promise((resolve) => setTimeout(resolve, LIVE * 600 + 1_000)),
    async stop() {
      isOver = true
      await Promise.all(all)
      return completed
    },
  }
}

async function pidOf(on: pg.Client): Promise<number> {
  const { rows: settings } = await on.query<{ folder: string }>(`select current_setting('data_directory') as folder`)
  return Number.parseInt(readFileSync(join(settings[0]?.folder ?? '', 'postmaster.pid'), 'utf8'), 10)
}

async function sizes(on: pg.Client): Promise<number> {
  const { rows: sums } = await on.query<{ bytes: number }>(
    `select sum(pg_total_relation_size(c.oid))::float8 as bytes from pg_class c
     where c.relnamespace = 'foothold'::regnamespace and c.relkind = 'r'`,
  )
  return sums[0]?.bytes ?? 0
}

function print(measured: readonly [string, Cost][], completed: number, bytes: number): void {
  console.log(
    `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, ${SECONDS} s a row\n`,
  )
  console.log('| what runs | connections | transactions/s | WAL kB/s | server CPU, % of a core |')
  console.log('| --- | ---: | ---: | ---: | ---: |')
  for (const [name, cost] of measured) {
    const { connections, transactionsPerSecond, walKilobytesPerSecond, cpuPercent } = cost
    const figures = [transactionsPerSecond, walKilobytesPerSecond, cpuPercent].map((figure) => figure.toFixed(1))
    console.log(`| ${name} | ${connections} | ${figures.join(' | ')} |`)
  }
  console.log(
    `\n${completed} tasks completed; ${(bytes / 1_000 / completed).toFixed(0)} kB of tables and indexes a task`,
  )
}
