import { fromNow } from '../../protocol/explain/durations.ts'
import { PRIORITIES, TASK_STATUSES, type TaskStatus, type TaskSummary } from '../../protocol/views.ts'
import type { Command } from '../command.ts'
import type { Output } from '../output.ts'
import { plainLine } from '../plain-text.ts'
import { statusText } from '../status-text.ts'
import { suggest } from '../suggest.ts'
import { tableLines } from '../table.ts'
import { UsageError } from '../usage-error.ts'
import { wholeNumber } from '../whole-number.ts'

export const tasksList: Command = {
  name: 'tasks list',
  summary: 'List tasks, newest first',
  arguments: [],
  options: {
    status: { value: '<status>', about: TASK_STATUSES.join(', ') },
    agent: { value: '<name>', about: 'of this agent only' },
    tenant: { value: '<tenant>', about: 'of this tenant only' },
    limit: { value: '<n>', about: '1 to 200, 50 by default' },
    cursor: { value: '<cursor>', about: 'the next page, as the page before named it' },
  },
  async run({ values, command }, { out, isJson, connect }) {
    const status = statusOf(values['status'], command)
    const limit = wholeNumber('--limit', values['limit'], { min: 1, max: 200, command })
    const { foothold, now } = await connect()
    const { agent, tenant, cursor } = { agent: values['agent'], tenant: values['tenant'], cursor: values['cursor'] }
    const page = await foothold.tasks({ status, agent, tenant, cursor, limit })
    if (isJson) {
      out.document(page)
      return 0
    }
    if (page.items.length === 0) out.note('No tasks.')
    else for (const line of taskTable(page.items, now, out)) out.line(line)
    if (page.nextCursor !== null) out.note(`There are more: --cursor ${page.nextCursor}`)
    return 0
  },
}

function taskTable(tasks: readonly TaskSummary[], now: Date, out: Output): string[] {
  const [head = '', ...rows] = tableLines(
    ['ID', 'AGENT', 'STATUS', 'ATTEMPT', 'PRIORITY', 'CREATED', 'TENANT'],
    tasks.map((task) => [
      task.id,
      `${task.agent}@${task.version}`,
      statusText(task),
      String(task.attempt),
      task.priority === PRIORITIES[1] ? '' : task.priority,
      fromNow(task.createdAt, now),
      plainLine(task.tenant ?? ''),
    ]),
  )
  return [out.paint('dim', head), ...rows]
}

function statusOf(text: string | undefined, command: string): TaskStatus | undefined {
  if (text === undefined) return undefined
  const found = TASK_STATUSES.find((status) => status === text)
  if (found !== undefined) return found
  const meant = suggest(text, TASK_STATUSES)
  const hint = meant === null ? `Known: ${TASK_STATUSES.join(', ')}.` : `Did you mean ${meant}?`
  throw new UsageError(`--status: there is no status ${JSON.stringify(text.slice(0, 100))}. ${hint}`, command)
}
