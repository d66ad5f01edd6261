import { randomBytes } from 'node:crypto'
import type { Account } from './account.ts'
import { type Binaries, findBinaries } from './binaries.ts'
import { DevPostgresError } from './errors.ts'
import { inside } from './folders.ts'
import { hasData, makeData } from './initialise.ts'
import { LocalServer, portInUse } from './local-server.ts'
import { withLock } from './lock.ts'
import type { Wish } from './options.ts'
import { choosePlace, placeBinaries } from './place.ts'
import { isFree, pickFreePort } from './ports.ts'
import { readPostmaster } from './postmaster-file.ts'
import { shutDown } from './server.ts'
import { readSettings, type Settings, urlOf, writeSettings } from './settings.ts'
import { Users } from './users.ts'

interface Kept {
  readonly wish: Wish
  readonly home: string
  readonly account: Account
  readonly binaries: Binaries
  readonly users: Users
}

// Enough for some workers, the application and its tests at once; each idle connection costs about 2 MB.
const SERVER_SETTINGS = { max_connections: '200' }

/** A server whose data outlive it. One that runs on the same data already is shared with the programs that use it. */
export async function startKept(wish: Wish): Promise<LocalServer> {
  const place = choosePlace(wish.dataDir, wish.log)
  return await withLock(inside.lock(place.home), async () => {
    const binaries = placeBinaries(findBinaries(), place, wish.log)
    const kept = { wish, ...place, binaries, users: new Users(place.home) }
    const settings = await settle(kept)
    if (!hasData(place.home, binaries)) {
      await makeData(place.home, binaries, place.account, settings.password)
      wish.log(`made a new PostgreSQL database in ${place.home}`)
    }
    const server = serverOf(kept, settings)
    await server.startLocked()
    return server
  })
}

function serverOf({ home, account, binaries, users }: Kept, settings: Settings): LocalServer {
  return new LocalServer(
    urlOf(settings),
    { home, account, binaries, port: settings.port, settings: SERVER_SETTINGS },
    { enter: () => users.enter(), leave: () => users.leave(), afterLastStop: () => {} },
  )
}

/** Decides port and password, and writes them down before there are data that depend on them. */
async function settle(kept: Kept): Promise<Settings> {
  hasData(kept.home, kept.binaries)
  const known = readSettings(kept.home)
  const settings = {
    port: (await runningPort(kept)) ?? (await freePort(kept.wish, known?.port)),
    password: known?.password ?? randomBytes(24).toString('hex'),
  }
  if (settings.port !== known?.port) writeSettings(kept.home, settings)
  return settings
}

async function runningPort({ wish, home, users }: Kept): Promise<number | undefined> {
  const running = readPostmaster(inside.data(home))
  if (running.kind === 'none') return undefined
  if (wish.port === undefined || wish.port === running.port) {
    wish.log(`PostgreSQL runs already on port ${running.port} with the data in ${home}: using it`)
    return running.port
  }
  if (users.hasOthers()) {
    throw new DevPostgresError(
      'DATA_DIR_BUSY',
      `Another program uses ${home} on port ${running.port}. ` +
        `Cure: leave port ${wish.port} out to share its server, end it, or give another dataDir.`,
    )
  }
  wish.log(`stopping PostgreSQL on port ${running.port}: an earlier run left it, and port ${wish.port} is wanted`)
  await shutDown(home, 'fast')
  return undefined
}

async function freePort(wish: Wish, known: number | undefined): Promise<number> {
  if (wish.port !== undefined) {
    if (await isFree(wish.port)) return wish.port
    throw portInUse(wish.port)
  }
  if (known === undefined) return await pickFreePort()
  if (await isFree(known)) return known
  const port = await pickFreePort()
  wish.log(`port ${known} of the last run is taken by another program: using ${port}`)
  return port
}
