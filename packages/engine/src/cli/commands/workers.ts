import { fromNow } from '../../protocol/explain/durations.ts'
import type { WorkerView } from '../../protocol/views.ts'
import type { Command } from '../command.ts'
import { plainLine } from '../plain-text.ts'
import { tableLines } from '../table.ts'

export const workers: Command = {
  name: 'workers',
  summary: 'List workers and what they run',
  arguments: [],
  options: { all: { about: 'those too that have stopped or were lost' } },
  async run({ flags }, { out, isJson, connect }) {
    const { foothold, now } = await connect()
    const known = await foothold.workers()
    const shown = flags.has('all') ? known : known.filter(isAlive)
    if (isJson) {
      out.document({ items: shown })
      return 0
    }
    if (shown.length === 0) out.note('No live workers. Start one: foothold worker <module>')
    else {
      const [head = '', ...rows] = tableLines(
        ['WORKER', 'STATUS', 'RUNNING', 'HEARTBEAT', 'STARTED', 'RELEASE', 'HANDLERS'],
        shown.map((worker) => [
          plainLine(worker.id),
          worker.status,
          `${worker.running}/${worker.concurrency}`,
          fromNow(worker.lastHeartbeatAt, now),
          fromNow(worker.startedAt, now),
          plainLine(worker.release),
          plainLine(worker.handlers.join(' ')),
        ]),
      )
      for (const line of [out.paint('dim', head), ...rows]) out.line(line)
    }
    const hidden = known.length - shown.length
    if (hidden > 0) out.note(`${hidden} that stopped or were lost are not shown: --all`)
    return 0
  },
}

function isAlive(worker: WorkerView): boolean {
  return worker.status === 'active' || worker.status === 'draining'
}
