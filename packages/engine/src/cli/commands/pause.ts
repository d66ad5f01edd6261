import type { Foothold } from '../../protocol/foothold.ts'
import type { PauseAnswer } from '../../protocol/pauses.ts'
import type { Command } from '../command.ts'
import { pauseLine } from '../pause-line.ts'
import { TARGET_OPTIONS, targetOf } from '../pause-target.ts'
import { plainLine } from '../plain-text.ts'
import { suggest } from '../suggest.ts'

export const pause: Command = {
  name: 'pause',
  summary: 'Stop an agent, a tenant or a release for now',
  details: `Nothing of it is claimed any more, by any worker, whatever restarts; what runs is handed over after its current
step, free of charge. Submitting goes on. It ends with foothold unpause; foothold pauses lists what is paused.`,
  arguments: [],
  options: {
    ...TARGET_OPTIONS,
    reason: { value: '<text>', about: 'stored and shown' },
    by: { value: '<name>', about: 'your name, stored and shown' },
  },
  async run({ values, command }, { out, isJson, connect }) {
    const target = targetOf(values, command)
    const { foothold, now } = await connect()
    const answer = await foothold.pause(target, { reason: values['reason'], by: values['by'] })
    if (isJson) out.document(answer)
    else out.line(pauseLine(answer, now))
    if (!answer.isKnown) out.note(await unknownNote(foothold, answer))
    return 0
  },
}

async function unknownNote(foothold: Foothold, { kind, value }: PauseAnswer): Promise<string> {
  const known = kind === 'agent' ? await foothold.agents() : []
  const meant = suggest(value, known)
  const hint = meant === null ? '' : ` Did you mean ${JSON.stringify(meant)}? Then: foothold unpause --agent ${value}`
  return plainLine(
    `Nothing of ${kind} ${JSON.stringify(value)} has been seen here yet; it is paused for when it comes.${hint}`,
  )
}
