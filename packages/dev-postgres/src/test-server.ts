import { rmSync } from 'node:fs'
import { chooseAccount } from './account.ts'
import { findBinaries } from './binaries.ts'
import { makeData } from './initialise.ts'
import { LocalServer } from './local-server.ts'
import type { Wish } from './options.ts'
import { placeBinaries } from './place.ts'
import { pickFreePort } from './ports.ts'
import { urlOf, writeSettings } from './settings.ts'
import { makeTestHome, sweepTestHomes } from './test-home.ts'
import { watchOver } from './watcher.ts'

// Nothing survives a power cut, and nothing has to. What a killed PostgreSQL process loses is the same as in production:
// the operating system still has every write.
const SERVER_SETTINGS = {
  max_connections: '300',
  fsync: 'off',
  full_page_writes: 'off',
  checkpoint_timeout: '30min',
  max_wal_size: '4GB',
}

/** A server for one process, quick to make, that leaves nothing behind however that process ends. */
export async function startForTests(wish: Wish): Promise<LocalServer> {
  const account = chooseAccount('')
  await sweepTestHomes(account, wish.log)

  const home = makeTestHome(account)
  const watcher = watchOver(home)
  const remove = (): void => {
    rmSync(home, { recursive: true, force: true })
    watcher.release()
  }
  try {
    const binaries = placeBinaries(findBinaries(), { home, account }, wish.log)
    const settings = { port: wish.port ?? (await pickFreePort()), password: null }
    writeSettings(home, settings)
    await makeData(home, binaries, account, settings.password)
    const server = new LocalServer(
      urlOf(settings),
      { home, account, binaries, port: settings.port, settings: SERVER_SETTINGS },
      { enter: () => {}, leave: () => 'was-last', afterLastStop: remove },
    )
    await server.start()
    return server
  } catch (error) {
    remove()
    throw error
  }
}
