import { once } from 'node:events'
import { type DevPostgresOptions, startDevPostgres } from '@foothold/dev-postgres'

// A program that uses the database: says what it got, and goes when its input ends or a line comes.
const server = await startDevPostgres({
  ...(JSON.parse(process.argv[2] ?? '{}') as DevPostgresOptions),
  log: (line) => console.error(line),
})
console.log(JSON.stringify({ url: server.url, pid: server.pid, dataDir: server.dataDir, uid: process.getuid?.() }))
await once(process.stdin, 'data')
await server.stop()
process.exit(0)
