import type { AlertMessage } from '../protocol/alerts.ts'

/** What on-call may type, the likeliest first. */
export function alertCommands({
  agent,
  reason,
  examples,
}: Pick<AlertMessage, 'agent' | 'reason' | 'examples'>): string[] {
  if (reason === 'handler_unknown') return ['npx foothold workers', 'npx foothold doctor']
  const [first] = examples
  if (first === undefined) return []
  return [
    `npx foothold why ${first.id}`,
    // The same input would be refused the same way.
    `npx foothold tasks ${reason === 'input_invalid' ? 'cancel' : 'resume'} ${first.id}`,
    reason === 'code_changed'
      ? `npx foothold tasks list --status waiting --agent ${agent}`
      : `npx foothold dead-letters --agent ${agent}`,
  ]
}
