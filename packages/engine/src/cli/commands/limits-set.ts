import type { Rate } from '../../protocol/limits.ts'
import type { Command } from '../command.ts'
import { LIMIT_OPTIONS, limitTargetOf } from '../limit-target.ts'
import { plainLine } from '../plain-text.ts'
import { UsageError } from '../usage-error.ts'
import { wholeNumber } from '../whole-number.ts'

const PERIODS_MS: Readonly<Record<string, number>> = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 }

export const limitsSet: Command = {
  name: 'limits set',
  summary: 'Limit how much of an agent, a tenant or a key runs at once, or starts per period',
  details: `Over all workers together, from their next claim on. What has no room waits aside and holds nobody up; what runs
already is not stopped. The limit that was there is replaced as a whole.`,
  arguments: [],
  options: {
    ...LIMIT_OPTIONS,
    concurrency: { value: '<n>', about: 'at once' },
    rate: { value: '<n>/<period>', about: `starts per ${Object.keys(PERIODS_MS).join(', ')}: 60/minute` },
    by: { value: '<name>', about: 'your name, stored and shown' },
  },
  async run({ values, command }, { out, isJson, connect }) {
    const target = limitTargetOf(values, command)
    const concurrency = wholeNumber('--concurrency', values['concurrency'], { min: 1, max: 1_000_000, command })
    const rate = rateOf(values['rate'], command)
    if (concurrency === undefined && rate === undefined)
      throw new UsageError('Give --concurrency, --rate or both.', command)
    const { foothold } = await connect()
    await foothold.setLimit(target, { concurrency, rate, by: values['by'] })
    const [[kind, value] = []] = Object.entries(target)
    if (isJson) out.document({ kind, value, concurrency: concurrency ?? null, rate: rate ?? null })
    else out.line(plainLine(`${kind} ${value} is limited.`))
    return 0
  },
}

function rateOf(text: string | undefined, command: string): Rate | undefined {
  if (text === undefined) return undefined
  const [, count = '', period = ''] = /^(\d{1,4})\/([a-z]+)$/.exec(text) ?? []
  const periodMs = PERIODS_MS[period]
  if (periodMs !== undefined && Number(count) > 0) return { count: Number(count), periodMs }
  throw new UsageError(`--rate: ${JSON.stringify(text.slice(0, 50))} is not like 60/minute.`, command)
}
