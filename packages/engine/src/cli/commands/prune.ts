import type { Command } from '../command.ts'
import { tableLines } from '../table.ts'
import { wholeNumber } from '../whole-number.ts'

const DAYS = { min: 0, max: 36_500 }

export const prune: Command = {
  name: 'prune',
  summary: 'Remove what has ended and is kept no longer',
  details: `Workers do it by themselves, some minutes apart; this does it now, in small batches. Dead letters are kept for ever unless
days are given, a dedupe key for as long as its producer said, whatever became of its task. Unless days are given here,
the defaults hold.`,
  arguments: [],
  options: {
    'dry-run': { about: 'count, and remove nothing' },
    'ended-days': { value: '<n>', about: 'completed and cancelled tasks, 30 by default' },
    'dead-letter-days': { value: '<n>', about: 'dead letters, for ever by default' },
    'chunk-days': { value: '<n>', about: 'what their steps emitted, 1 by default' },
    'worker-days': { value: '<n>', about: 'workers that have stopped or were lost, 7 by default' },
  },
  async run({ values, flags, command }, { out, isJson, connect }) {
    const days = (name: string): number | undefined => wholeNumber(`--${name}`, values[name], { ...DAYS, command })
    const retention = {
      endedDays: days('ended-days'),
      deadLetterDays: days('dead-letter-days'),
      chunkDays: days('chunk-days'),
      workerDays: days('worker-days'),
    }
    const isDryRun = flags.has('dry-run')
    const { foothold } = await connect()
    const report = await foothold.prune({ isDryRun, retention })
    if (isJson) {
      out.document({ isDryRun, ...report })
      return 0
    }
    const rows = [
      ['tasks', report.tasks],
      ['chunks', report.chunks],
      ['dedupe keys', report.dedupeKeys],
      ['workers', report.workers],
      ['alert groups', report.alertGroups],
    ] as const
    const names = [isDryRun ? 'WOULD GO' : 'REMOVED', 'ROWS']
    const [head = '', ...lines] = tableLines(
      names,
      rows.map(([name, count]) => [name, String(count)]),
    )
    for (const line of [out.paint('dim', head), ...lines]) out.line(line)
    return 0
  },
}
