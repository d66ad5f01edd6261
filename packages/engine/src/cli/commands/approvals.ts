import { cut } from '../../protocol/explain/cut.ts'
import { fromNow } from '../../protocol/explain/durations.ts'
import type { Command } from '../command.ts'
import { plainLine } from '../plain-text.ts'
import { tableLines } from '../table.ts'
import { wholeNumber } from '../whole-number.ts'

const TITLE_CHARACTERS_MAX = 80

export const approvals: Command = {
  name: 'approvals',
  summary: 'List the questions that tasks ask of people',
  arguments: [],
  options: { limit: { value: '<n>', about: '1 to 1,000, 100 by default' } },
  async run({ values, command }, { out, isJson, connect }) {
    const limit = wholeNumber('--limit', values['limit'], { min: 1, max: 1_000, command })
    const { foothold, now } = await connect()
    const items = await foothold.approvals({ limit })
    if (isJson) {
      out.document({ items })
      return 0
    }
    if (items.length === 0) {
      out.note('Nothing waits for an approval.')
      return 0
    }
    const [head = '', ...rows] = tableLines(
      ['TASK', 'KEY', 'AGENT', 'ASKED', 'EXPIRES', 'TITLE'],
      items.map(({ taskId, key, agent, askedAt, expiresAt, title }) => [
        taskId,
        plainLine(key),
        plainLine(agent),
        fromNow(askedAt, now),
        expiresAt === null ? '' : fromNow(expiresAt, now),
        plainLine(cut(title, TITLE_CHARACTERS_MAX)),
      ]),
    )
    for (const line of [out.paint('dim', head), ...rows]) out.line(line)
    out.note(
      'Answer one: foothold approve <task> <key> --by <you>, or foothold reject ...; its details: foothold tasks show <task>',
    )
    return 0
  },
}
