import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createTestDatabase } from 'foothold/testing'
import { expect, inject, test } from 'vitest'

interface Run {
  readonly process: ChildProcess
  readonly lines: string[]
  said(text: string): Promise<void>
}

function run(databaseUrl: string): Run {
  const args = ['--conditions=@foothold/source', '--import', 'tsx', 'hello.ts']
  const child = spawn(process.execPath, args, {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    env: { ...process.env, DATABASE_URL: databaseUrl, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  const output = createInterface({ input: child.stdout })
  output.on('line', (line) => lines.push(line))
  return {
    process: child,
    lines,
    async said(text) {
      while (!lines.some((line) => line.includes(text))) await once(output, 'line')
    },
  }
}

test('killed in its second step and run again, the example goes on after its first', { timeout: 90_000 }, async () => {
  const database = await createTestDatabase(inject('postgresUrl'))
  const runs: Run[] = []
  try {
    const first = run(database.url)
    runs.push(first)
    await first.said('step 2, attempt 1')
    first.process.kill('SIGKILL')
    await once(first.process, 'close')

    const second = run(database.url)
    runs.push(second)
    const [code] = (await once(second.process, 'close')) as [number]

    expect(second.lines.at(-1)).toBe('done: Привет, мир! (written in attempt 2)')
    expect(code).toBe(0)
  } finally {
    for (const { process } of runs) process.kill('SIGKILL')
    await database.drop()
  }
})
