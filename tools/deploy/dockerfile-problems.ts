import { type BuildInstruction, instructionsOf, lastOf, type Stage } from './dockerfile.ts'

/** What would keep a container of the target from being stopped in order, or give it rights it does not need. */
export function dockerfileProblems(stages: readonly Stage[], target: string): readonly string[] {
  const instructions = instructionsOf(stages, target)
  const user = lastOf(instructions, 'USER')?.text ?? null
  const stopSignal = lastOf(instructions, 'STOPSIGNAL')?.text ?? 'SIGTERM'
  const environment = instructions.filter(({ keyword }) => keyword === 'ENV').flatMap(({ words }) => words)
  return [
    ...commandProblems(lastOf(instructions, 'CMD'), 'CMD'),
    ...commandProblems(lastOf(instructions, 'HEALTHCHECK'), 'HEALTHCHECK'),
    ...(instructions.some(({ keyword }) => keyword === 'SHELL') ? ['SHELL has no use where nothing runs in one'] : []),
    ...(user === null ? ['USER is not set: the process would be root'] : []),
    ...(user !== null && /^(root|0)(:|$)/.test(user) ? ['USER is root'] : []),
    ...(stopSignal === 'SIGTERM' ? [] : [`STOPSIGNAL is ${stopSignal}, which the process does not drain on`]),
    ...(environment.includes('NODE_ENV=production') ? [] : ['NODE_ENV is not production']),
  ]
}

/** Shells and package managers start the program as a child and keep signals to themselves. */
const SWALLOWS_SIGNALS = /(^|\/)(sh|bash|dash|ash|npm|npx|yarn|pnpm|tsx)$/

function commandProblems(instruction: BuildInstruction | null, keyword: string): readonly string[] {
  if (instruction === null) return [`${keyword} is missing`]
  if (instruction.exec === null) return [`${keyword} is not in exec form: ${instruction.text}`]
  return swallowerOf(instruction.exec).map((program) => `${keyword} starts ${program}, which keeps signals to itself`)
}

export function swallowerOf(command: readonly string[]): readonly string[] {
  return command.slice(0, 1).filter((program) => SWALLOWS_SIGNALS.test(program))
}
