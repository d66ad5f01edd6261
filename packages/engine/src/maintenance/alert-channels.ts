import type { AlertChannel } from '../protocol/alerts.ts'
import { FootholdError } from '../protocol/errors.ts'

const NAME = /^[a-z0-9][a-z0-9_.:-]{0,62}$/

/** Under its name stands how far a channel has shown each group: it must be one that stays, and of one channel. */
export function checkAlertChannels(channels: readonly AlertChannel[]): void {
  const names = new Set<string>()
  for (const [index, channel] of channels.entries()) {
    const field = `alerts[${index}]`
    const { name } = channel
    if (typeof name !== 'string' || !NAME.test(name)) {
      throw new FootholdError('INVALID_ARGUMENT', {
        field: `${field}.name`,
        problem: `${JSON.stringify(name)} is not 1 to 63 of a-z, 0-9 and _.:-`,
        cure: "Use a name that stays, like 'telegram'.",
      })
    }
    if (names.has(name)) {
      throw new FootholdError('INVALID_ARGUMENT', {
        field: `${field}.name`,
        problem: `${JSON.stringify(name)} is taken by another channel`,
        cure: 'Give each channel a name of its own.',
      })
    }
    names.add(name)
    for (const method of ['send', 'update'] as const) {
      if (typeof channel[method] === 'function') continue
      throw new FootholdError('INVALID_ARGUMENT', { field: `${field}.${method}`, problem: 'it is not a function' })
    }
  }
}
