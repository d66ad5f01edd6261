import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { DEPLOY } from './deploy-files.ts'

/** The script itself, with a `docker` that writes down what it is told and fails where the test says so. */

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const DOCKER = `#!/bin/sh
echo "$RELEASE: $*" >> "$CALLS"
case "$*" in *"$FAILS_AT") exit 1 ;; esac
`
const ENVIRONMENT_FILES = ['postgres.env', 'server.env', 'worker.env']

function setup(): { readonly folder: string; readonly roll: (options: RollOptions) => RollResult } {
  const folder = mkdtempSync(join(tmpdir(), 'foothold-roll-'))
  folders.push(folder)
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin/docker'), DOCKER)
  chmodSync(join(folder, 'bin/docker'), 0o755)
  copyFileSync(join(DEPLOY, 'roll.sh'), join(folder, 'roll.sh'))
  for (const name of ENVIRONMENT_FILES) writeFileSync(join(folder, name), '')
  const calls = join(folder, 'calls')
  return {
    folder,
    roll({ release = '2026-12-02', failsAt = '?', args = [] }) {
      writeFileSync(calls, '')
      const env = {
        PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
        CALLS: calls,
        FAILS_AT: failsAt,
        RELEASE: release,
      }
      const { status, stdout, stderr } = spawnSync('bash', [join(folder, 'roll.sh'), ...args], {
        env,
        encoding: 'utf8',
      })
      return { code: status, output: stdout + stderr, calls: readFileSync(calls, 'utf8').trim().split('\n') }
    },
  }
}

interface RollOptions {
  readonly release?: string
  readonly failsAt?: string
  readonly args?: readonly string[]
}

interface RollResult {
  readonly code: number | null
  readonly output: string
  readonly calls: readonly string[]
}

const up = (service: string): string =>
  `2026-12-02: compose --file compose.yaml up --detach --no-deps --no-build --wait --wait-timeout 120 ${service}`

test('one process after the other, each ready before the next is touched; the database is never recreated', () => {
  const { folder, roll } = setup()

  const { code, calls, output } = roll({})

  expect(output).toContain('everything runs 2026-12-02')
  expect(code).toBe(0)
  expect(calls).toEqual([
    '2026-12-02: compose --file compose.yaml build worker-a server',
    '2026-12-02: compose --file compose.yaml up --detach --no-recreate --wait --wait-timeout 120 postgres',
    up('worker-a'),
    up('worker-b'),
    up('server'),
  ])
  expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('RELEASE=2026-12-02\n')
})

test('where the first new worker does not become ready, the second stays as it was', () => {
  const { folder, roll } = setup()

  const { code, calls, output } = roll({ failsAt: 'worker-a' })

  expect(code).toBe(1)
  expect(calls.at(-1)).toBe(up('worker-a'))
  expect(output).toContain('worker-a did not become ready')
  expect(output).toContain('go back with: RELEASE=')
  expect(existsSync(join(folder, '.env'))).toBe(false)
})

test('a failed build touches nothing that runs', () => {
  const { code, calls } = setup().roll({ failsAt: 'build worker-a server' })

  expect(code).toBe(1)
  expect(calls).toHaveLength(1)
})

test('going back to an earlier release builds nothing, and keeps what else stands in .env', () => {
  const { folder, roll } = setup()
  writeFileSync(join(folder, '.env'), 'FOOTHOLD_PORT=8080\nRELEASE=2026-12-02\n')

  const { code, calls } = roll({ release: '2026-11-30', args: ['--no-build'] })

  expect(code).toBe(0)
  expect(calls.join('\n')).not.toMatch(/ build /)
  expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('FOOTHOLD_PORT=8080\nRELEASE=2026-11-30\n')
})

test('what is missing or wrong is said before anything is touched', () => {
  const { folder, roll } = setup()

  const unnamed = roll({ release: '' })
  const strange = roll({ release: 'a; rm -rf /' })
  const unknown = roll({ args: ['--fast'] })
  rmSync(join(folder, 'worker.env'))
  const unfilled = roll({})

  expect([unnamed, strange, unknown, unfilled].map(({ code }) => code)).toEqual([2, 2, 2, 2])
  expect([unnamed, strange, unknown, unfilled].flatMap(({ calls }) => calls).join('')).toBe('')
  expect(unnamed.output).toContain('RELEASE must be a label')
  expect(unknown.output).toContain('--fast')
  expect(unfilled.output).toContain('copy worker.env.example')
})
