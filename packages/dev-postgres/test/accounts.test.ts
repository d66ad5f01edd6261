import { chmodSync, chownSync, cpSync, existsSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Account, chooseAccount } from '../src/account.ts'
import { copyBinaries, createMissingLinks, findBinaries, tryBinaries } from '../src/binaries.ts'
import { canActAsNobody, isRoot, makeEarlierData, makeFolder, NOBODY, query, start, startProgram } from './world.ts'

vi.setConfig({ testTimeout: 90_000 })

const anybody: Account = { identity: {} }

/** The package as `npm ci --ignore-scripts` leaves it: the list of links, and none of the links. */
function installWithoutScripts(): string {
  const native = join(makeFolder(), 'native')
  cpSync(findBinaries().native, native, { recursive: true, verbatimSymlinks: true })
  for (const name of readdirSync(join(native, 'lib'))) {
    const path = join(native, 'lib', name)
    if (lstatSync(path).isSymbolicLink()) rmSync(path)
  }
  return native
}

test('binaries installed with --ignore-scripts run, once the links their postinstall would have made are there', () => {
  const binaries = { ...findBinaries(), native: installWithoutScripts() }
  expect(tryBinaries(binaries, anybody)).toMatchObject({ kind: 'refused', why: expect.stringContaining('libicu') })

  createMissingLinks(binaries.native)
  createMissingLinks(binaries.native)

  expect(tryBinaries(binaries, anybody)).toEqual({ kind: 'runs' })
})

test('a copy of the binaries has its links, can be used by every account, and is made once', () => {
  const home = makeFolder()
  const original = { ...findBinaries(), native: installWithoutScripts() }

  const copied = copyBinaries(original, home)
  const again = copyBinaries(original, home)

  expect(again).toEqual(copied)
  expect(readdirSync(home)).toEqual([`postgres-${original.release}`])
  expect(tryBinaries(copied, chooseAccount(''))).toEqual({ kind: 'runs' })
})

test.runIf(isRoot)('root lends PostgreSQL another account', async () => {
  const { server } = await start({ dataDir: await makeEarlierData() })

  expect(statSync(`/proc/${server.pid}`).uid).toBe(NOBODY)
  expect(statSync(join(server.dataDir, 'data')).mode & 0o777).toBe(0o700)
})

test.runIf(isRoot)(
  'below a folder closed to others, root keeps the data in /var/lib/foothold and says so',
  async () => {
    const closed = makeFolder(0o700)
    const dataDir = join(closed, 'postgres')

    const first = await start({ dataDir })
    onTestFinished(() => rmSync(first.server.dataDir, { recursive: true, force: true }))
    await query(first.server.url, `create table note as select 'здесь' as text`)
    await first.server.stop()
    // Opened meanwhile: the data made elsewhere must not seem lost.
    chmodSync(closed, 0o755)
    const second = await start({ dataDir })

    expect(first.server.dataDir).toMatch(/^\/var\/lib\/foothold\/[0-9a-f]{16}$/)
    expect(first.said.join('\n')).toContain(first.server.dataDir)
    expect(second.server.dataDir).toBe(first.server.dataDir)
    expect(await query(second.server.url, 'select text from note')).toEqual([{ text: 'здесь' }])
    expect(existsSync(join(dataDir, 'data'))).toBe(false)
  },
)

test.runIf(canActAsNobody)('an ordinary user runs everything as itself, in its own folder', async () => {
  const folder = makeFolder(0o700)
  chownSync(folder, NOBODY, NOBODY)

  const program = await startProgram({ dataDir: join(folder, 'postgres') }, NOBODY)

  expect(program.uid).toBe(NOBODY)
  expect(program.dataDir).toBe(join(folder, 'postgres'))
  expect(statSync(`/proc/${program.pid}`).uid).toBe(NOBODY)
  expect(await query(program.url, 'select 1 as n')).toEqual([{ n: 1 }])
  await program.finish()
})

test.runIf(canActAsNobody)(
  "root goes on with an ordinary user's data as that user, and the user can go on after root",
  async () => {
    const folder = makeFolder(0o700)
    chownSync(folder, NOBODY, NOBODY)
    const dataDir = join(folder, 'postgres')
    const before = await startProgram({ dataDir }, NOBODY)
    await query(before.url, `create table note as select 'моё' as text`)
    await before.finish()

    const { server } = await start({ dataDir })
    expect(server.url).toBe(before.url)
    await server.stop()
    const after = await startProgram({ dataDir }, NOBODY)

    expect(await query(after.url, 'select text from note')).toEqual([{ text: 'моё' }])
    await after.finish()
  },
)

test.runIf(canActAsNobody)('a folder that belongs to root is refused to an ordinary user with the cure', async () => {
  const dataDir = await makeEarlierData()

  await expect(startProgram({ dataDir }, NOBODY)).rejects.toThrow(
    /cannot be made or written to.*Cure: .*DATA_DIR_NOT_USABLE/s,
  )
})
