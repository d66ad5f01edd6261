import { expect, test } from 'vitest'
import { movableClock } from '../../src/testing/index.ts'
import { agentOf, until } from '../integration/world.ts'
import { cliWorld } from './cli-world.ts'

test('a schedule is set, listed, paused, let go on and removed from the command', async () => {
  const { cli, worker, foothold } = await cliWorld()
  await worker([agentOf(async (_task, input) => input, { name: 'nightly' })])
  const set = [
    'schedules',
    'set',
    'night',
    '--agent',
    'nightly',
    '--cron',
    '30 2 * * *',
    '--time-zone',
    'Europe/Moscow',
  ]

  const first = await cli(...set, '--input', '{"отчёт": "выручка"}', '--tenant', 'ООО «Вектор»', '--catch-up', 'skip')
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first.stdout).toMatch(
    /^Set: night submits to nightly at 30 2 \* \* \*, Europe\/Moscow\.\nNext: (\d{4}-\d\d-\d\d 02:30(, |\n)){3}$/,
  )
  expect((await cli('schedules', 'list')).stdout).toMatch(
    /^NAME +AGENT +CRON +TIME ZONE +NEXT +LAST TICK +TENANT\nnight +nightly +30 2 \* \* \* +Europe\/Moscow +\d{4}-\d\d-\d\d 02:30 \(in .*\) +never +ООО «Вектор»\n$/,
  )
  expect((await cli('schedules', 'list', '--json')).json()).toMatchObject({
    items: [{ name: 'night', catchUp: 'skip', overlap: 'skip', input: { отчёт: 'выручка' }, isPaused: false }],
  })

  expect((await cli('schedules', 'pause', 'night')).stdout).toContain('foothold schedules unpause night')
  expect((await cli('schedules', 'list')).stdout).toContain('  paused  ')
  expect((await cli(...set)).stderr).toContain('It is paused.')
  expect((await cli('schedules', 'unpause', 'night')).stdout).toMatch(/^Goes on: night, next .* 02:30\n$/)
  expect((await cli('schedules', 'remove', 'night')).stdout).toBe('Removed: night\n')
  expect(await foothold.schedules()).toEqual([])
  expect((await cli('schedules', 'list')).stderr).toContain('No schedules.')
})

test('what is wrong with a schedule is said with its limit and a cure', async () => {
  const { cli, worker } = await cliWorld()
  await worker([agentOf(async () => null, { name: 'nightly' })])
  const set = (...rest: string[]) => cli('schedules', 'set', 'night', '--agent', 'nightly', ...rest)

  for (const [answer, code, text] of [
    [await set('--cron', '0 0 30 2 *'), 1, 'never comes'],
    [await set('--cron', '30 2 * *'), 1, 'has 4 fields, not 5'],
    [await set('--cron', '30 2 * * *', '--time-zone', 'Moscow'), 1, 'Use a name of the IANA list'],
    [await set('--cron', '30 2 * * *', '--catch-up', 'some'), 2, 'none of once, skip, all'],
    [await set('--cron', '30 2 * * *', '--input', 'отчёт'), 2, '--input is not JSON'],
    [await set(), 2, '--cron <fields> is missing'],
    [await cli('schedules', 'set', 'night', '--agent', 'nightli', '--cron', '* * * * *'), 1, 'Known: nightly'],
    [await cli('schedules', 'pause', 'night'), 1, 'There is no schedule "night".'],
    [await cli('schedules', 'lsit'), 2, 'schedules list'],
  ] as const) {
    expect(answer.stderr).toContain(text)
    expect(answer.code).toBe(code)
  }
})

test('prune counts in a dry run, and removes what it counted', async () => {
  const { cli, worker, foothold, ownerUrl, query } = await cliWorld()
  await worker([agentOf(async () => null)])
  await (await foothold.submit('test', 1, { dedupeKey: 'а' })).result()
  await (await foothold.submit('test', 2)).result()
  await movableClock(ownerUrl).advance(31 * 86_400_000)

  const dry = await cli('prune', '--dry-run')
  expect(dry.stdout).toMatch(/^WOULD GO +ROWS\ntasks +2\nchunks +0\ndedupe keys +1\nworkers +0\nalert groups +0\n$/)
  expect((await cli('prune', '--ended-days', '40', '--json')).json()).toMatchObject({
    isDryRun: false,
    tasks: 0,
    dedupeKeys: 1,
  })
  expect((await cli('prune')).stdout).toMatch(/^REMOVED +ROWS\ntasks +2\n/)
  expect(await query('select 1 from foothold.tasks')).toEqual([])
  expect((await cli('prune', '--ended-days', '-1')).code).toBe(2)
  await until('nothing is left to count', async () =>
    (await cli('prune', '--dry-run')).stdout.includes('tasks         0'),
  )
})
