import { describe, expect, test } from 'vitest'
import type { PoolerSample, ServerFacts } from '../../store/doctor.ts'
import { worst } from './check.ts'
import { durabilityCheck } from './durability.ts'
import { poolerKind } from './pooler.ts'
import { clockCheck, serverChecks } from './server-checks.ts'
import { tablesChecks } from './work-checks.ts'

const SOUND: ServerFacts = {
  versionNumber: 180_004,
  version: '18.4',
  isInRecovery: false,
  isReadOnly: false,
  fsync: 'on',
  fullPageWrites: 'on',
  synchronousCommit: 'on',
  synchronousStandbyNames: '',
  synchronousStandbys: 0,
  connectionsMax: 97,
  connectionsUsed: 10,
  oldestSnapshotSeconds: null,
  seesAll: true,
}

function levelOf(change: Partial<ServerFacts>): string {
  return worst(serverChecks({ ...SOUND, ...change }))
}

test.each<[string, Partial<ServerFacts>]>([
  ['ok', {}],
  ['ok', { versionNumber: 140_000 }],
  ['error', { versionNumber: 130_018 }],
  ['warning', { versionNumber: 190_000 }],
  ['error', { isInRecovery: true, isReadOnly: true }],
  ['error', { isReadOnly: true }],
  ['warning', { fullPageWrites: 'off' }],
  ['ok', { connectionsUsed: 77 }],
  ['warning', { connectionsUsed: 78 }],
  ['error', { connectionsUsed: 93 }],
  ['ok', { oldestSnapshotSeconds: 600 }],
  ['warning', { oldestSnapshotSeconds: 601 }],
])('a server is %s when %j', (level, change) => {
  expect(levelOf(change)).toBe(level)
})

describe('the durability class', () => {
  test.each<[string, string, Partial<ServerFacts>]>([
    ['error', 'none', { fsync: 'off' }],
    ['error', 'less than a disk', { synchronousCommit: 'off' }],
    ['ok', 'one disk', {}],
    [
      'warning',
      'one disk',
      { synchronousStandbyNames: 'FIRST 1 (б)', synchronousCommit: 'local', synchronousStandbys: 1 },
    ],
    ['error', 'none is connected', { synchronousStandbyNames: 'FIRST 1 (б)' }],
    ['ok', 'the disks of two machines', { synchronousStandbyNames: '*', synchronousStandbys: 1 }],
    ['ok', 'the disks of two machines', { synchronousStandbyNames: '*', synchronousStandbys: null }],
    [
      'ok',
      'memory of a standby',
      { synchronousStandbyNames: '*', synchronousStandbys: 1, synchronousCommit: 'remote_write' },
    ],
    [
      'ok',
      'readable on both',
      { synchronousStandbyNames: '*', synchronousStandbys: 1, synchronousCommit: 'remote_apply' },
    ],
  ])('is %s, "%s", with %j', (level, words, change) => {
    const check = durabilityCheck({ ...SOUND, ...change })

    expect(check.level).toBe(level)
    expect(check.text).toContain(words)
  })
})

test.each<[string, PoolerSample, PoolerSample]>([
  ['none', { announced: 7, served: [7, 7, 7] }, { announced: 8, served: [8, 8, 8] }],
  ['session', { announced: 901, served: [7, 7, 7] }, { announced: 902, served: [8, 8, 8] }],
  ['transaction', { announced: 901, served: [7, 7, 7] }, { announced: 902, served: [7, 7, 7] }],
  ['transaction', { announced: 901, served: [7, 9, 7] }, { announced: 902, served: [8, 8, 8] }],
  ['transaction', { announced: 7, served: [7, 8, 7] }, { announced: 8, served: [8, 7, 8] }],
])('a pooler is told by who served: %s', (kind, first, second) => {
  expect(poolerKind([first, second])).toBe(kind)
})

test.each([
  ['ok', 0],
  ['ok', -1_900],
  ['warning', -2_500],
  ['warning', 3_600_000],
])('clocks are %s when the database is %d ms ahead', (level, aheadMs) => {
  const slow = { sentMs: 0, receivedMs: 60_000, databaseMs: 30_000 }
  const quick = { sentMs: 70_000, receivedMs: 70_004, databaseMs: 70_002 + aheadMs }

  expect(clockCheck([slow, quick]).level).toBe(level)
})

test('a table that is mostly dead rows is a warning, a small one is not', () => {
  const table = { name: 'tasks', bytes: 2 ** 31, rows: 5_000, deadRows: 20_000 }

  expect(tablesChecks([table]).map(({ level, text }) => `${level}: ${text}`)).toEqual([
    'ok: 2.0 GB: tasks 2.0 GB',
    'warning: tasks holds 20000 dead rows beside 5000 live ones',
  ])
  expect(tablesChecks([{ ...table, rows: 0, deadRows: 9_000 }])).toHaveLength(1)
})
