import { rm } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startDevPostgres } from '@foothold/dev-postgres'
import pg from 'pg'
import { BLOWS, type Blow, type Round } from './blows.ts'
import { Fleet } from './fleet.ts'

/**
 * What a blow to a worker costs the task that it runs, at defaults; `blows.ts` says from which moment to which.
 * `npm run bench:recovery -- [--blow kill|stop|freeze] [--rounds 50] [--frozen-ms 6000] [--lifeline on|off] [--workers 3]
 * [--fleets 1]`; nothing else should run on the machine. Several fleets are several databases side by side, for blows
 * whose time does not matter.
 */
const { values } = parseArgs({
  options: {
    blow: { type: 'string', default: 'kill' },
    rounds: { type: 'string', default: '50' },
    'frozen-ms': { type: 'string', default: '6000' },
    lifeline: { type: 'string', default: 'on' },
    workers: { type: 'string', default: '3' },
    fleets: { type: 'string', default: '1' },
  },
})
const blow = BLOWS[values.blow as Blow]
if (blow === undefined) throw new Error(`--blow is one of ${Object.keys(BLOWS).join(', ')}`)
const roundsMax = Number(values.rounds)

const dataDir = join(process.cwd(), '.foothold', 'recovery')
await rm(dataDir, { recursive: true, force: true })
const postgres = await startDevPostgres({ dataDir })
const done: Round[] = []
try {
  await Promise.all(Array.from({ length: Number(values.fleets) }, (_, n) => strike(n)))
  print()
} finally {
  await postgres.stop()
}

/** Round after round, until all fleets together have had enough. */
async function strike(number: number): Promise<void> {
  const fleet = await Fleet.open(await database(`fleet_${number}`), Number(values.workers), values.lifeline)
  try {
    for (let begun = number; begun < roundsMax; begun += Number(values.fleets)) {
      const round = await blow(fleet, { frozenMs: Number(values['frozen-ms']) })
      done.push(round)
      console.error(`${done.length}/${roundsMax}: ${JSON.stringify(round)}`)
    }
  } finally {
    await fleet.close()
  }
}

async function database(name: string): Promise<string> {
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  const url = new URL(postgres.url)
  url.pathname = `/${name}`
  return url.href
}

function print(): void {
  const times = done.flatMap(({ tookMs }) => tookMs ?? []).toSorted((a, b) => a - b)
  const at = (share: number): number | string =>
    times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? '-'
  const sum = (count: (round: Round) => number): number => done.reduce((all, round) => all + count(round), 0)
  console.log(
    `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, PostgreSQL at defaults, ${values.workers} workers\n`,
  )
  console.log(
    '| blow | lifeline | rounds | taken over | median ms | p95 ms | p99 ms | slowest ms | zombie writes | late requests |',
  )
  console.log('| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
  const name = values.blow === 'freeze' ? `freeze of ${Number(values['frozen-ms']) / 1_000} s` : values.blow
  const figures = [
    done.length,
    times.length,
    at(0.5),
    at(0.95),
    at(0.99),
    times.at(-1) ?? '-',
    sum(({ zombieWrites }) => zombieWrites),
    sum(({ lateRequests }) => lateRequests),
  ]
  console.log(`| ${name} | ${values.lifeline} | ${figures.join(' | ')} |`)
}
