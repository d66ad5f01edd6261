import { FootholdError } from '../../protocol/errors.ts'
import { readStepsFrom } from '../../store/steer.ts'
import type { Command } from '../command.ts'
import { plainLine } from '../plain-text.ts'
import { taskIdOf } from '../task-id.ts'
import { UsageError } from '../usage-error.ts'

export const tasksRestart: Command = {
  name: 'tasks restart',
  summary: 'Begin an ended task again from one of its steps',
  details: `The results of that step and of all later ones are forgotten. Effects among them have changed something outside,
and would do so again: then nothing is restarted until --repeat-effects is given too.`,
  arguments: [{ name: 'id', about: 'the task' }],
  options: {
    from: { value: '<step>', about: 'the first step to run again' },
    'repeat-effects': { about: 'effects that took place may take place again' },
  },
  async run({ arguments: [text = ''], values, flags, command }, { out, isJson, connect }) {
    const id = taskIdOf(text, command)
    const from = values['from']
    if (from === undefined) throw new UsageError('--from <step> is missing: the first step to run again.', command)
    const { foothold, db } = await connect()
    if (!flags.has('repeat-effects')) {
      const steps = await readStepsFrom(db, id, from)
      const acted = steps.filter((step) => step.isForgotten && step.kind === 'effect' && step.status !== 'failed')
      if (acted.length > 0) {
        throw new FootholdError('INVALID_ARGUMENT', {
          field: '--repeat-effects',
          problem: `these effects took place, or may have, and would take place again: ${acted.map((step) => step.key).join(', ')}`,
          cure: 'Nothing was restarted. Begin after them, or give --repeat-effects.',
        })
      }
    }
    const report = await foothold.restart(id, { from })
    if (isJson) {
      out.document({ id, ...report })
      return 0
    }
    out.line(`${id} begins again from ${plainLine(from)}: ${report.forgotten.map(plainLine).join(', ')}.`)
    if (report.repeatedEffects.length > 0) {
      out.note(`May take place again: ${report.repeatedEffects.map(plainLine).join(', ')}`)
    }
    out.note(`See: foothold tasks watch ${id}`)
    return 0
  },
}
