import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { launchProgram, makeEarlierData, makeFolder, processGroupOf, query, start, startProgram } from './world.ts'

// A start takes a second on a free machine and ten on a crowded one, and some tests need three.
vi.setConfig({ testTimeout: 90_000 })

test('a first start makes a database that opens with the URL and with no other password', async () => {
  const { server } = await start({ dataDir: join(makeFolder(), 'postgres') })

  const rows = await query(
    server.url,
    `select current_database(), inet_server_addr()::text as address, 'Заказ' as word`,
  )
  const withoutPassword = query(server.url.replace(/:[0-9a-f]{48}@/, ':wrong@'), 'select 1')

  expect(rows).toEqual([{ current_database: 'foothold', address: '127.0.0.1/32', word: 'Заказ' }])
  await expect(withoutPassword).rejects.toMatchObject({ code: '28P01' })
  expect(statSync(join(server.dataDir, 'settings.json')).mode & 0o777).toBe(0o600)
})

test('text sorts and changes case the same on every machine', async () => {
  const { server } = await start({ dataDir: await makeEarlierData() })

  const rows = await query(server.url, `select upper('ёлка') as upper, 'Я' < 'а' as by_code_point, 'B' < 'a' as latin`)

  expect(rows).toEqual([{ upper: 'ЁЛКА', by_code_point: true, latin: true }])
})

test('the next start finds the data, the port and the password of the last one', async () => {
  const dataDir = await makeEarlierData()
  const first = await start({ dataDir })
  await query(first.server.url, `create table note as select 'остаётся' as text`)
  await first.server.stop()
  await first.server.stop()
  expect(first.server.pid).toBe(0)

  const second = await start({ dataDir })

  expect(second.server.url).toBe(first.server.url)
  expect(await query(second.server.url, 'select text from note')).toEqual([{ text: 'остаётся' }])
})

test('after kill -9 of PostgreSQL under a running query it starts again with everything committed', async () => {
  const { server } = await start({ dataDir: await makeEarlierData() })
  await query(server.url, `create table note as select 1 as n`)
  const cut = query(server.url, 'select pg_sleep(600)').catch((error: Error) => error)
  await vi.waitFor(async () => {
    expect(await query(server.url, `select 1 from pg_stat_activity where query = 'select pg_sleep(600)'`)).toHaveLength(
      1,
    )
  })
  const killed = server.pid
  process.kill(killed, 'SIGKILL')
  await cut

  await server.start()

  expect(server.pid).not.toBe(killed)
  expect(await query(server.url, 'select n from note')).toEqual([{ n: 1 }])
})

test('a postmaster.pid left from another life of the machine does not stop a start, though its number is in use', async () => {
  const dataDir = await makeEarlierData()
  const first = await start({ dataDir })
  const file = join(dataDir, 'data', 'postmaster.pid')
  const left = readFileSync(file, 'utf8')
  await first.server.stop()
  writeFileSync(file, left.replace(/^\d+/, String(process.pid)))

  const second = await start({ dataDir })

  expect(second.server.pid).toBeGreaterThan(0)
  expect(second.server.pid).not.toBe(process.pid)
})

test('after kill -9 of the program its PostgreSQL is adopted, and goes with the new program', async () => {
  const dataDir = await makeEarlierData()
  const program = await startProgram({ dataDir })
  const ended = once(program.process, 'exit')
  program.process.kill('SIGKILL')
  await ended

  const { server, said } = await start({ dataDir })

  expect(server.pid).toBe(program.pid)
  expect(server.url).toBe(program.url)
  expect(said.join()).toContain('runs already')
  await server.stop()
  expect(server.pid).toBe(0)
})

test('Ctrl-C at the terminal does not reach PostgreSQL: it is in a process group of its own', async () => {
  const { server } = await start({ dataDir: await makeEarlierData() })

  expect(processGroupOf(server.pid)).toBe(server.pid)
})

test('two programs that start at one moment share one server, and the last to leave stops it', async () => {
  const dataDir = await makeEarlierData()
  const [one, two] = await Promise.all([startProgram({ dataDir }), startProgram({ dataDir })])
  expect(one.pid).toBe(two.pid)

  await one.finish()
  expect(await query(two.url, 'select 1 as n')).toEqual([{ n: 1 }])
  await two.finish()

  await expect(query(two.url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test('a first start killed half way leaves nothing that the next one trips over', async () => {
  const dataDir = join(makeFolder(), 'postgres')
  const child = launchProgram({ dataDir })
  await vi.waitFor(() => expect(readdirSync(dataDir).join()).toContain('data.partial'), {
    timeout: 20_000,
    interval: 5,
  })
  child.kill('SIGKILL')
  expect(existsSync(join(dataDir, 'data'))).toBe(false)

  const { server } = await start({ dataDir })

  expect(await query(server.url, 'select 1 as n')).toEqual([{ n: 1 }])
})

test('a remembered port that another program took is replaced, and the log says so', async () => {
  const dataDir = await makeEarlierData()
  const first = await start({ dataDir })
  await first.server.stop()
  const thief = createServer().listen(first.server.port, '127.0.0.1')
  await once(thief, 'listening')

  const second = await start({ dataDir })

  thief.close()
  expect(second.server.port).not.toBe(first.server.port)
  expect(second.said.join()).toContain(`port ${first.server.port} of the last run is taken`)
})

test('a server left on another port moves to the port that is asked for', async () => {
  const dataDir = await makeEarlierData()
  const program = await startProgram({ dataDir })
  const wanted = Number(new URL(program.url).port) + 1
  const shared = start({ dataDir, port: wanted })
  await expect(shared).rejects.toMatchObject({ code: 'DATA_DIR_BUSY' })
  const ended = once(program.process, 'exit')
  program.process.kill('SIGKILL')
  await ended

  const { server } = await start({ dataDir, port: wanted })

  expect(server.port).toBe(wanted)
  expect(await query(server.url, 'select 1 as n')).toEqual([{ n: 1 }])
})

test('the environment of the program does not reach PostgreSQL', async () => {
  process.env.SECRET_OF_THE_PROGRAM = 'тайна'
  const { server } = await start({ dataDir: await makeEarlierData() })
  delete process.env.SECRET_OF_THE_PROGRAM

  expect(readFileSync(`/proc/${server.pid}/environ`, 'utf8')).not.toContain('тайна')
})

test('a process that exits is not held by the server it started', async () => {
  const dataDir = await makeEarlierData()
  const code = `const { startDevPostgres } = await import('@foothold/dev-postgres'); await startDevPostgres({ dataDir: ${JSON.stringify(dataDir)} })`
  const child = spawn(process.execPath, [
    '--conditions=@foothold/source',
    '--import',
    'tsx',
    '--input-type=module',
    '-e',
    code,
  ])

  const [exitCode] = (await once(child, 'exit')) as [number]

  expect(exitCode).toBe(0)
  const { said } = await start({ dataDir })
  expect(said.join()).toContain('runs already')
})
