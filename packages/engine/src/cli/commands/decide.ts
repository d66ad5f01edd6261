import { decode } from '../../protocol/codec.ts'
import type { Decision } from '../../protocol/foothold.ts'
import type { Command, Given } from '../command.ts'
import { plainLine } from '../plain-text.ts'
import { taskIdOf } from '../task-id.ts'
import { UsageError } from '../usage-error.ts'

export const decide: Command = {
  name: 'decide',
  summary: 'Say whether an effect happened that nobody could know of',
  details: `Look at the receiver first. --done stores the given JSON as what the effect returned, and the task goes on with it;
--not-done lets the task send it again.`,
  arguments: [
    { name: 'id', about: 'the task' },
    { name: 'step', about: 'the effect' },
  ],
  options: {
    done: { value: '<json>', about: 'it happened; its result, null where there is none' },
    'not-done': { about: 'it did not happen' },
    by: { value: '<name>', about: 'who says so; stored with the step' },
  },
  async run(given, { out, isJson, connect }) {
    const [text = '', step = ''] = given.arguments
    const id = taskIdOf(text, given.command)
    const decision = decisionOf(given)
    const { foothold } = await connect()
    await foothold.decide(id, step, decision)
    if (isJson) out.document({ id, step, outcome: decision.outcome, by: decision.by })
    else {
      const said = decision.outcome === 'done' ? 'happened' : 'did not happen'
      out.line(`Stored: ${plainLine(step)} ${said}. The task goes on; see: foothold tasks watch ${id}`)
    }
    return 0
  },
}

function decisionOf({ values, flags, command }: Given): Decision {
  const { done, by } = { done: values['done'], by: values['by'] }
  if ((done !== undefined) === flags.has('not-done')) {
    throw new UsageError('Give either --done <json> or --not-done.', command)
  }
  if (by === undefined || by === '') throw new UsageError('--by <name> is missing: who has looked.', command)
  if (done === undefined) return { outcome: 'not_done', by }
  try {
    return { outcome: 'done', result: decode(done), by }
  } catch {
    throw new UsageError(
      `--done is not JSON: ${JSON.stringify(done.slice(0, 100))}. Text needs its quotes, as in --done '"A-17"'.`,
      command,
    )
  }
}
