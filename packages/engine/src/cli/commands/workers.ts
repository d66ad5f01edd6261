import { fromNow } from '../../protocol/explain/durations.ts'
import type { Pause } from '../../protocol/pauses.ts'
import type { WorkerView } from '../../protocol/views.ts'
import type { Command } from '../command.ts'
import { lifelineLine } from '../lifeline-line.ts'
import { pauseLine } from '../pause-line.ts'
import { plainLine } from '../plain-text.ts'
import { tableLines } from '../table.ts'

export const workers: Command = {
  name: 'workers',
  summary: 'List workers and what they run',
  arguments: [],
  options: { all: { about: 'those too that have stopped or were lost' } },
  async run({ flags }, { out, isJson, connect }) {
    const { foothold, now } = await connect()
    const [known, pauses, lifeline] = await Promise.all([
      foothold.workers(),
      foothold.pauses(),
      foothold.lifelineSwitch(),
    ])
    const shown = flags.has('all') ? known : known.filter(isAlive)
    if (isJson) {
      out.document({ items: shown, pauses })
      return 0
    }
    if (shown.length === 0) out.note('No live workers. Start one: foothold worker <module>')
    else {
      const [head = '', ...rows] = tableLines(
        ['WORKER', 'STATUS', 'RUNNING', 'HEARTBEAT', 'LIFELINE', 'LAG', 'MEMORY', 'STARTED', 'RELEASE', 'HANDLERS'],
        shown.map((worker) => [
          plainLine(worker.id),
          isPaused(worker, pauses) ? `${worker.status} (paused)` : worker.status,
          `${worker.running}/${worker.concurrency}`,
          fromNow(worker.lastHeartbeatAt, now),
          worker.hasLifeline ? 'yes' : 'no',
          worker.loopLagMs === null ? '-' : `${worker.loopLagMs} ms`,
          worker.rssBytes === null ? '-' : `${Math.round(worker.rssBytes / 1_000_000)} MB`,
          fromNow(worker.startedAt, now),
          plainLine(worker.release),
          plainLine(worker.handlers.join(' ')),
        ]),
      )
      for (const line of [out.paint('dim', head), ...rows]) out.line(line)
    }
    for (const pause of pauses) out.note(pauseLine(pause, now))
    if (!lifeline.isOn) out.note(lifelineLine(lifeline, now))
    const hidden = known.length - shown.length
    if (hidden > 0) out.note(`${hidden} that stopped or were lost are not shown: --all`)
    return 0
  },
}

function isAlive(worker: WorkerView): boolean {
  return worker.status === 'active' || worker.status === 'draining'
}

/** Its release: it claims nothing. A paused agent or tenant is named below the list. */
function isPaused({ release }: WorkerView, pauses: readonly Pause[]): boolean {
  return pauses.some(({ kind, value }) => kind === 'release' && value === release)
}
