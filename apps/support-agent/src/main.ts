import { fileURLToPath } from 'node:url'
import { isFootholdError } from 'foothold'
import { ask } from './ask.ts'
import { ConfigError, readClientConfig, readConfig } from './config.ts'
import { runServer } from './processes/server.ts'
import { runSimulators, type SimulatorSettings } from './processes/simulators.ts'
import { runWorker } from './processes/worker.ts'
import { start } from './start/start.ts'

const USAGE = `usage: main.ts <mode>
  start    everything on this machine, with local stand-ins for what is not configured
  server   the HTTP API and the page
  worker   runs tasks
  ask      asks a question and shows the answer as it is written`

async function main([mode, ...args]: readonly string[]): Promise<number> {
  switch (mode) {
    case 'start':
      return await start({
        config: readConfig(),
        module: fileURLToPath(import.meta.url),
        workingFolder: process.cwd(),
      })
    case 'server':
      return await runServer(readConfig())
    case 'worker':
      return await runWorker(readConfig())
    case 'simulators':
      return await runSimulators(JSON.parse(args[0] ?? '{}') as SimulatorSettings)
    case 'ask':
      return await ask(args, readClientConfig())
    default:
      process.stderr.write(`${USAGE}\n`)
      return 2
  }
}

/** What a person can put right is said in one line; anything else is a defect and shows where. */
function complaint(error: unknown): string {
  if (error instanceof ConfigError || isFootholdError(error)) return error.message
  if (error instanceof Error && error.name === 'DevPostgresError') return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

try {
  process.exitCode = await main(process.argv.slice(2))
  // Sockets kept alive for reuse must not hold a finished process.
  setTimeout(() => process.exit(), 1_000).unref()
  if (process.connected) process.disconnect()
} catch (error) {
  process.stderr.write(
    `${complaint(error)}
`,
    () => process.exit(1),
  )
}
