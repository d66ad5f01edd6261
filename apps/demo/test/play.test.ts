import { execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'

/** The demo as `npm run demo` starts it, without a terminal. */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url))

// Built once: two at a time would write the same files.
beforeAll(() => {
  execFileSync('npx', ['tsc', '-b'], { cwd: ROOT })
}, 120_000)

interface Played {
  readonly code: number | null
  readonly report: Readonly<Record<string, number>> & { readonly lost: readonly string[] }
  readonly log: string
}

function play(...options: readonly string[]): Promise<Played> {
  const argv = [MAIN, '--play', '--json', ...options]
  const demo = spawn(process.execPath, argv, { env: { PATH: process.env['PATH'] }, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let log = ''
  demo.stdout.on('data', (data: Buffer) => {
    out += String(data)
  })
  demo.stderr.on('data', (data: Buffer) => {
    log += String(data)
  })
  return new Promise((resolve, reject) => {
    demo.once('close', (code) => {
      try {
        resolve({ code, log, report: JSON.parse(out) as Played['report'] })
      } catch {
        reject(new Error(`the demo ended with ${code} and without a report:\n${log}`))
      }
    })
  })
}

const ENOUGH = { kills: 3, deploys: 2, freezes: 1 }

test('under kills, deploys and a freeze nothing is lost and nothing is doubled; the same seed without the guard doubles', {
  timeout: 240_000,
}, async () => {
  const [guarded, naive] = await Promise.all([play('--seed', '7'), play('--seed', '7', '--guard', 'off')])

  console.log(JSON.stringify({ guarded: guarded.report, naive: naive.report }))
  expect(guarded.report, guarded.log).toMatchObject({ ...ENOUGH, lost: [], recordsDoubled: 0, repliesDoubled: 0 })
  expect(guarded.report['completed']).toBe(guarded.report['accepted'])
  expect(guarded.report['accepted']).toBeGreaterThanOrEqual(40)
  expect(guarded.report['orphaned']).toBeGreaterThan(0)
  expect(guarded.report['handedOver']).toBeGreaterThan(0)
  expect(guarded.code).toBe(0)
  expect(naive.report).toMatchObject(ENOUGH)
  expect(naive.report['recordsDoubled']).toBeGreaterThan(0)
  expect(naive.code).toBe(1)
})
