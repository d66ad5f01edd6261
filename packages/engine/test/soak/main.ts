import { readSoakOptions, USAGE } from './options.ts'
import { reportOf, verdictsOf } from './report.ts'
import { soak } from './soak.ts'

/** `npm run soak -- --minutes 5 --seed 7`: exit code 0 when nothing that must be 0 is more, 1 when something is. */

const args = process.argv.slice(2)
if (args.includes('--help')) {
  console.log(USAGE)
  process.exit(0)
}
const stopping = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => stopping.abort(new Error(`stopped by ${name}`)))
}
try {
  const options = readSoakOptions(args)
  const result = await soak(options, { signal: stopping.signal, log: (line) => console.error(`soak: ${line}`) })
  const command = `npm run soak -- --minutes ${options.minutes} --seed ${options.seed}${options.isPooled ? ' --pgbouncer' : ''}${options.without.map((name) => ` --without ${name}`).join('')}`
  console.log(reportOf({ ...result, command, without: options.without }))
  const red = verdictsOf(result.findings).filter(({ found }) => found.length > 0)
  for (const name of result.notMet)
    console.log(`--without ${name}: no statement had this guard; the control controls nothing`)
  console.log(red.length === 0 ? 'GREEN' : `RED: ${red.map(({ name }) => name).join(', ')}`)
  process.exitCode = red.length === 0 ? (result.notMet.length === 0 ? 0 : 2) : 1
} catch (error) {
  console.error(`soak: ${error instanceof Error ? error.message : String(error)}`)
  if (error instanceof RangeError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') === true)
    console.error(USAGE)
  process.exitCode = 2
}
