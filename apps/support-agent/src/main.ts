import { fileURLToPath } from 'node:url'
import { isFootholdError } from 'foothold'
import { ConfigError, readClientConfig, readConfig } from './config.ts'

const USAGE = `usage: main.ts <mode>
  start    everything on this machine, with local stand-ins for what is not configured
  server   the HTTP API and the page
  worker   runs tasks
  ask      asks a question and shows the answer as it is written`

/** Each mode loads its own modules alone: a question must not wait for a web server's code. */
async function main([mode = '', ...args]: readonly string[]): Promise<number> {
  switch (mode) {
    case 'start': {
      const { start } = await import('./start/start.ts')
      return await start({
        config: readConfig(),
        module: fileURLToPath(import.meta.url),
        workingFolder: process.cwd(),
      })
    }
    case 'server': {
      const { runServer } = await import('./processes/server.ts')
      return await runServer(readConfig())
    }
    case 'worker': {
      const { runWorker } = await import('./processes/worker.ts')
      return await runWorker(readConfig())
    }
    case 'simulators': {
      const { runSimulators } = await import('./processes/simulators.ts')
      return await runSimulators(JSON.parse(args[0] ?? '{}'))
    }
    case 'ask': {
      const { ask } = await import('./ask.ts')
      return await ask(args, readClientConfig())
    }
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
