import type { Command } from '../command.ts'
import { lifelineLine } from '../lifeline-line.ts'
import { UsageError } from '../usage-error.ts'

export const lifeline: Command = {
  name: 'lifeline',
  summary: 'Show, or switch off and on, how killed workers are noticed at once',
  details: `Every worker holds a lock in a session of its own; when it breaks, the others take the worker's tasks in well under a
second. Switched off, they wait for the lease as they do behind a pooler. In every process within a second, without a
deploy; for the day when a network cuts the sessions of workers that live.`,
  arguments: [],
  options: {
    off: { about: 'until it is switched on again' },
    on: { about: 'as it is by default' },
    reason: { value: '<text>', about: 'with --off: stored and shown' },
    by: { value: '<name>', about: 'with --off: your name, stored and shown' },
  },
  async run({ flags, values, command }, { out, isJson, connect }) {
    if (flags.has('on') && flags.has('off')) throw new UsageError('--on and --off are given; give one.', command)
    const { foothold, now } = await connect()
    const given = { reason: values['reason'], by: values['by'] }
    const state =
      flags.has('on') || flags.has('off')
        ? await foothold.switchLifeline(flags.has('on') ? 'on' : 'off', given)
        : await foothold.lifelineSwitch()
    if (isJson) out.document(state)
    else out.line(lifelineLine(state, now))
    return 0
  },
}
