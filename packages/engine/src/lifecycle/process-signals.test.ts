import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { onStopSignal } from './process-signals.ts'

test('every user is told each stop signal with a count of its own, until it leaves', () => {
  const told: string[] = []
  const leaveFirst = onStopSignal((signal, count) => told.push(`first ${signal} ${count}`))
  process.emit('SIGTERM', 'SIGTERM')
  const leaveSecond = onStopSignal((signal, count) => told.push(`second ${signal} ${count}`))
  process.emit('SIGINT', 'SIGINT')
  leaveFirst()
  leaveFirst()
  process.emit('SIGTERM', 'SIGTERM')
  leaveSecond()

  expect(told).toEqual(['first SIGTERM 1', 'first SIGINT 2', 'second SIGINT 1', 'second SIGTERM 2'])
})

test('many users are one listener, and the last one out leaves the process as it was', () => {
  const before = process.listenerCount('SIGTERM')
  const leave = Array.from({ length: 30 }, () => onStopSignal(() => {}))
  expect(process.listenerCount('SIGTERM')).toBe(before + 1)

  for (const one of leave) one()

  expect(process.listenerCount('SIGTERM')).toBe(before)
  expect(process.listenerCount('SIGINT')).toBe(before)
})

test('a handler that throws does not keep the signal from the others, and is not silent', () => {
  let isTold = false
  const leave = [
    onStopSignal(() => {
      throw new Error('дефект')
    }),
    onStopSignal(() => {
      isTold = true
    }),
  ]

  expect(() => process.emit('SIGTERM', 'SIGTERM')).toThrow('дефект')
  for (const one of leave) one()

  expect(isTold).toBe(true)
})

test('one who is removed by another during a signal is not told; one installed by it waits for the next', () => {
  const told: string[] = []
  const leave: (() => void)[] = []
  leave.push(
    onStopSignal(() => {
      leave[1]?.()
      leave.push(onStopSignal(() => told.push('installed')))
    }),
  )
  leave.push(onStopSignal(() => told.push('removed')))

  process.emit('SIGTERM', 'SIGTERM')
  for (const one of leave) one()

  expect(told).toEqual([])
})

test('a real process outlives the first signal while it listens, and dies of the next when it does not', async () => {
  const source = fileURLToPath(new URL('./process-signals.ts', import.meta.url))
  const child = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      '--input-type=module',
      '-e',
      `import { onStopSignal } from ${JSON.stringify(source)}
       const leave = onStopSignal((signal, count) => { leave(); console.log(signal, count) })
       setInterval(() => {}, 1000)
       console.log('ready')`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const lines = child.stdout.setEncoding('utf8')[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('ready\n')

  child.kill('SIGTERM')
  expect((await lines.next()).value).toBe('SIGTERM 1\n')
  child.kill('SIGTERM')

  expect(await once(child, 'exit')).toEqual([null, 'SIGTERM'])
})
