// The simulators as a process of their own: one JSON line with the addresses on stdout, then requests until SIGTERM,
// SIGINT, or the end of the process that started it over IPC.

import { parseArgs } from 'node:util'
import { addressesOf } from './addresses.ts'
import { startSimulators } from './simulators.ts'

const USAGE = 'usage: simulators [--gigachat-port N] [--crm-port N] [--telegram-port N] [--data FILE] [--pace MS]'

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      'gigachat-port': { type: 'string' },
      'crm-port': { type: 'string' },
      'telegram-port': { type: 'string' },
      data: { type: 'string' },
      pace: { type: 'string' },
    },
  })
  const pace = values.pace === undefined ? {} : { chunkDelayMs: wholeNumber('--pace', values.pace, 60_000) }
  const simulators = await startSimulators({
    gigachat: { port: portOf('--gigachat-port', values['gigachat-port']), ...pace },
    crm: {
      port: portOf('--crm-port', values['crm-port']),
      ...(values.data === undefined ? {} : { dataFile: values.data }),
    },
    telegram: { port: portOf('--telegram-port', values['telegram-port']) },
  })

  let isStopping = false
  const stop = (): void => {
    if (isStopping) return
    isStopping = true
    simulators.close().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  if (process.connected) process.on('disconnect', stop)

  process.stdout.write(`${JSON.stringify(addressesOf(simulators))}\n`)
}

function portOf(name: string, text: string | undefined): number {
  return text === undefined ? 0 : wholeNumber(name, text, 65_535)
}

function wholeNumber(name: string, text: string, max: number): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value) && value >= 0 && value <= max) return value
  throw new Error(`${name} must be a whole number from 0 to ${max}, not "${text}"\n${USAGE}`)
}

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}

main().catch(fail)
