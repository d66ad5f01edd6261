import { cut } from '../../protocol/explain/cut.ts'
import { fromNow } from '../../protocol/explain/durations.ts'
import { readErrors } from '../../store/why.ts'
import type { Command } from '../command.ts'
import { plainLine } from '../plain-text.ts'
import { tableLines } from '../table.ts'
import { wholeNumber } from '../whole-number.ts'

const MESSAGE_CHARACTERS_MAX = 100

export const deadLetters: Command = {
  name: 'dead-letters',
  summary: 'List the tasks that only a person can move on',
  arguments: [],
  options: {
    agent: { value: '<name>', about: 'of this agent only' },
    limit: { value: '<n>', about: '1 to 200, 50 by default' },
    cursor: { value: '<cursor>', about: 'the next page, as the page before named it' },
  },
  async run({ values, command }, { out, isJson, connect }) {
    const limit = wholeNumber('--limit', values['limit'], { min: 1, max: 200, command })
    const { foothold, db, now } = await connect()
    const filter = { agent: values['agent'], cursor: values['cursor'], limit }
    const page = await foothold.tasks({ ...filter, status: 'dead_letter' })
    const errors = await readErrors(
      db,
      page.items.map((task) => task.id),
    )
    if (isJson) {
      const items = page.items.map((task) => ({ ...task, error: errors.get(task.id) ?? null }))
      out.document({ ...page, items })
      return 0
    }
    if (page.items.length === 0) {
      out.note('No dead letters.')
      return 0
    }
    const [head = '', ...rows] = tableLines(
      ['ID', 'AGENT', 'REASON', 'SINCE', 'ERROR'],
      page.items.map((task) => [
        task.id,
        `${task.agent}@${task.version}`,
        plainLine(task.lastReason ?? ''),
        task.finishedAt === null ? '' : fromNow(task.finishedAt, now),
        plainLine(cut(errors.get(task.id)?.message ?? '', MESSAGE_CHARACTERS_MAX)),
      ]),
    )
    for (const line of [out.paint('dim', head), ...rows]) out.line(line)
    out.note('What stopped one, and what to do: foothold why <id>')
    if (page.nextCursor !== null) out.note(`There are more: --cursor ${page.nextCursor}`)
    return 0
  },
}
