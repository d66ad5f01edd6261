import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type DevPostgres, startDevPostgres } from '@foothold/dev-postgres'
import { type Config, ConfigError, childEnvironment } from '../config.ts'
import { SIMULATED_SERVICES, type SimulatedService, type SimulatorsReady } from '../processes/simulators.ts'
import { ChildKeeper, type ChildSpec } from './child-process.ts'
import { portProblem, wantedOrAny } from './free-port.ts'
import { readableLine } from './log-line.ts'
import { stopSignals } from './stop-signals.ts'
import { whatRunsWhere } from './summary.ts'
import { painter } from './terminal.ts'

export interface StartOptions {
  readonly config: Config
  /** main.ts itself: the children are other modes of the same program. */
  readonly module: string
  readonly workingFolder: string
}

/** Fixed, so that a page of notes stays true; where one is taken, any free one. */
const SIMULATOR_PORTS: Readonly<Record<SimulatedService, number>> = { gigachat: 4_411, crm: 4_412, telegram: 4_413 }
/** Only ever reachable from this machine, so it need not be secret, but it must stay the same. */
const SIMULATED_CRM_SECRET = 'simulated'
/** A worker's grace is 6.5 s, and its last writes take up to two more. */
const WORKER_STOP_MS = 12_000
const OTHERS_STOP_MS = 8_000

/** Everything on this machine, in order; until Ctrl-C, then backwards: intake, workers, simulators, PostgreSQL. */
export async function start({ config, module, workingFolder }: StartOptions): Promise<number> {
  const paint = painter(config.isColourWanted, process.stdout)
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  const isPretty = process.stdout.isTTY === true || config.isColourWanted === true
  const signals = stopSignals()
  const stops: Stop[] = []
  const keep = (spec: Pick<ChildSpec, 'name' | 'args' | 'environment' | 'stopMs'>): ChildKeeper =>
    new ChildKeeper({
      ...spec,
      module,
      onLine: (name, line) => say(isPretty ? readableLine(name, line, paint) : line),
      onRestart: (name, how, inMs) => say(paint('yellow', `${name} ended (${how}); starting it again in ${inMs} ms`)),
    })

  const stopAll = async (): Promise<number> => {
    let exitCode = 0
    for (const { name, stop } of stops.reverse()) {
      say(paint('dim', `stopping ${name}`))
      exitCode = Math.max(exitCode, await stop())
    }
    return exitCode
  }

  try {
    await checkPort(config)
    const database = await startDatabase(config, workingFolder, say)
    if (database.server !== null) stops.push({ name: 'PostgreSQL', stop: stopDatabase(database.server) })
    if (signals.isRequested()) return await stopAll()

    const simulated = SIMULATED_SERVICES.filter((service) => config[service] === null)
    const simulators = await startSimulators(simulated, keep, workingFolder, stops, (hurry) => signals.onHurry(hurry))
    if (simulated.length > 0) say(`simulators listen (${simulated.join(', ')})`)
    if (signals.isRequested()) return await stopAll()

    const environment = childEnvironment({
      ...simulators.environment,
      ...database.environment,
      PORT: String(config.port),
    })
    const workers = Array.from({ length: config.workers }, (_, index) =>
      keep({
        name: `worker-${index + 1}`,
        args: ['worker'],
        environment: { ...environment, ...operationsPort(config, index) },
        stopMs: WORKER_STOP_MS,
      }),
    )
    const server = keep({ name: 'server', args: ['server'], environment, stopMs: OTHERS_STOP_MS })
    stops.push(
      { name: 'the workers', stop: stopChildren(workers) },
      { name: 'the server', stop: stopChildren([server]) },
    )
    signals.onHurry(() => [...workers, server].forEach((child) => child.hurry()))
    const [ready] = await Promise.all([server.start(), ...workers.map((worker) => worker.start())])
    say('the server listens and the workers are ready')

    say(
      whatRunsWhere({
        url: String(ready.url),
        isTokenSet: config.token !== null,
        database: database.shown,
        simulators: simulators.urls,
        workers: workers.map(({ name, pid }) => ({ name, pid })),
        paint,
      }),
    )
    await signals.requested
    say('')
    return await stopAll()
  } catch (error) {
    await stopAll()
    throw error
  } finally {
    signals.uninstall()
  }
}

/** One port each, counted up from the one that is set; 0 is any free one for all. */
function operationsPort({ operations }: Config, index: number): Record<string, string> {
  if (operations === null) return {}
  return { OPERATIONS_PORT: String(operations.port === 0 ? 0 : operations.port + index) }
}

interface Stop {
  readonly name: string
  /** Resolves with this part's share of the exit code. */
  readonly stop: () => Promise<number>
}

async function checkPort({ host, port }: Config): Promise<void> {
  const problem = await portProblem(host, port)
  if (problem === null) return
  throw new ConfigError(
    problem === 'EADDRINUSE'
      ? `PORT ${port} on ${host} is taken: is another \`npm start\` running? Stop it, or use another port: PORT=${port + 1} npm start`
      : `PORT ${port} on ${host} cannot be used (${problem}): set HOST and PORT to what this machine allows.`,
  )
}

interface Database {
  readonly server: DevPostgres | null
  readonly environment: Readonly<Record<string, string>>
  readonly shown: string
}

async function startDatabase(config: Config, folder: string, say: (line: string) => void): Promise<Database> {
  if (config.databaseUrl !== null) {
    return { server: null, environment: {}, shown: `${new URL(config.databaseUrl).host} (DATABASE_URL)` }
  }
  say('starting PostgreSQL (the first time takes a few seconds)')
  const server = await startDevPostgres({ dataDir: join(folder, '.foothold', 'postgres'), log: say })
  return {
    server,
    environment: { DATABASE_URL: server.url, FOOTHOLD_DIRECT_URL: '' },
    shown: `127.0.0.1:${server.port}, pid ${server.pid}, data kept in ${server.dataDir}`,
  }
}

function stopDatabase(server: DevPostgres): () => Promise<number> {
  return async () => {
    await server.stop()
    return 0
  }
}

function stopChildren(children: readonly ChildKeeper[]): () => Promise<number> {
  return async () => {
    const codes = await Promise.all(children.map((child) => child.stop()))
    return codes.every((code) => code === 0) ? 0 : 1
  }
}

async function startSimulators(
  services: readonly SimulatedService[],
  keep: (spec: Pick<ChildSpec, 'name' | 'args' | 'environment' | 'stopMs'>) => ChildKeeper,
  folder: string,
  stops: Stop[],
  onHurry: (hurry: () => void) => void,
): Promise<SimulatorsReady> {
  if (services.length === 0) return { environment: {}, urls: {} }
  mkdirSync(join(folder, '.foothold'), { recursive: true })
  const ports: { [S in SimulatedService]?: number } = {}
  for (const service of services) ports[service] = await wantedOrAny('127.0.0.1', SIMULATOR_PORTS[service])
  const settings = {
    ports,
    crmSecret: SIMULATED_CRM_SECRET,
    crmDataFile: join(folder, '.foothold', 'crm-simulator.jsonl'),
  }
  const child = keep({
    name: 'simulators',
    args: ['simulators', JSON.stringify(settings)],
    environment: childEnvironment({}),
    stopMs: OTHERS_STOP_MS,
  })
  stops.push({ name: 'the simulators', stop: stopChildren([child]) })
  onHurry(() => child.hurry())
  return (await child.start()) as unknown as SimulatorsReady
}
