import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DevPostgresError } from '@foothold/dev-postgres'
import { expect, test } from 'vitest'
import { findBinaries } from '../src/binaries.ts'
import { makeFolder, start } from './world.ts'

async function refusal(promise: Promise<unknown>): Promise<DevPostgresError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(DevPostgresError)
  return error as DevPostgresError
}

test('a port in use is refused by number, with the cure', async () => {
  const thief = createServer().listen(0, '127.0.0.1')
  await once(thief, 'listening')
  const { port } = thief.address() as { port: number }

  const error = await refusal(start({ dataDir: join(makeFolder(), 'postgres'), port }))

  thief.close()
  expect(error.code).toBe('PORT_IN_USE')
  expect(error.message).toContain(`Port ${port}`)
  expect(error.message).toContain('Cure:')
})

test('data of another major version are refused and left alone', async () => {
  const dataDir = join(makeFolder(), 'postgres')
  const { server } = await start({ dataDir })
  await server.stop()
  writeFileSync(join(dataDir, 'data', 'PG_VERSION'), '12\n')

  const error = await refusal(start({ dataDir }))

  expect(error.code).toBe('DATA_DIR_OTHER_VERSION')
  expect(error.message).toMatch(/PostgreSQL 12.*PostgreSQL 18.*Cure:/)
  expect(readdirSync(join(dataDir, 'data'))).toContain('pg_wal')
})

test("a folder with somebody else's files is refused and left alone", async () => {
  const dataDir = join(makeFolder(), 'документы')
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'письмо.txt'), 'важно')

  const error = await refusal(start({ dataDir }))

  expect(error.code).toBe('DATA_DIR_NOT_OURS')
  expect(error.message).toContain('письмо.txt')
  expect(readdirSync(dataDir)).toEqual(['письмо.txt'])
})

test('settings that were damaged by hand are refused, not replaced by a new password', async () => {
  const dataDir = join(makeFolder(), 'postgres')
  const { server } = await start({ dataDir })
  await server.stop()
  writeFileSync(join(dataDir, 'settings.json'), '{"port":')

  expect((await refusal(start({ dataDir }))).code).toBe('DATA_DIR_NOT_OURS')
})

test.each([
  { port: -1 },
  { port: 70_000 },
  { port: 1.5 },
  { dataDir: '' },
  { purpose: 'test', dataDir: '/x' } as const,
])('options %j are refused by name', async (options) => {
  const error = await refusal(start(options))

  expect(error.code).toBe('OPTION_INVALID')
  expect(error.message).toMatch(/^(port|dataDir) is /)
})

test('a platform without binaries is refused with the way out', () => {
  expect(() => findBinaries('win32', 'x64')).toThrow(/win32-x64.*DATABASE_URL/)
  expect(() => findBinaries('linux', 'riscv64')).toThrow(/linux-riscv64.*DATABASE_URL/)
})
