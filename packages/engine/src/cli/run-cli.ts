import { parseCommandLine } from './arguments.ts'
import type { Command, Context, Given } from './command.ts'
import { COMMANDS } from './commands.ts'
import { complaintOf } from './complaint.ts'
import { type Connection, openConnection } from './connection.ts'
import { exitCodeOf, FAILED, unlessStopped, WRONG_USAGE } from './exit-codes.ts'
import { helpOf, overview } from './help.ts'
import { createOutput, type Output, type TextStream } from './output.ts'
import { UsageError } from './usage-error.ts'

export interface CliSurroundings {
  readonly env: NodeJS.ProcessEnv
  readonly stdout: TextStream
  readonly stderr: TextStream
  /** Where a worker's module is looked for. */
  readonly cwd?: string
  /** Aborts on a stop signal; its reason is the signal's name. */
  readonly stop?: AbortSignal
}

/** One run of `foothold`; resolves with the exit code and leaves nothing open. */
export async function runCli(argv: readonly string[], surroundings: CliSurroundings): Promise<number> {
  const out = createOutput(surroundings, surroundings.env)
  // Before parsing, because what is wrong on the command line is told in the same form.
  const isJson = argv.includes('--json')
  try {
    const parsed = parseCommandLine(argv, COMMANDS)
    if (parsed.kind === 'help') {
      out.line(parsed.command === null ? overview(COMMANDS, parsed.topic) : helpOf(parsed.command))
      return argv.length === 0 ? WRONG_USAGE : 0
    }
    return await runCommand(parsed.command, parsed.given, surroundings, out)
  } catch (error) {
    // The stop itself, or what a command that was cut off tripped over.
    if (surroundings.stop?.aborted === true) return exitCodeOf(surroundings.stop)
    complain(error, out, isJson)
    return error instanceof UsageError ? WRONG_USAGE : FAILED
  }
}

async function runCommand(command: Command, given: Given, surroundings: CliSurroundings, out: Output): Promise<number> {
  const { env, cwd = process.cwd(), stop = new AbortController().signal } = surroundings
  const url = given.values['url'] ?? env['DATABASE_URL']
  checkUrl(url, given.command)
  const connections: Connection[] = []
  const context: Context = {
    env,
    cwd,
    out,
    url,
    stop,
    isJson: given.flags.has('json'),
    async connect() {
      const connection = await openConnection(url)
      connections.push(connection)
      return connection
    },
  }
  try {
    const running = command.run(given, context)
    return await (command.handlesStop === true ? running : unlessStopped(running, stop))
  } finally {
    await Promise.all(connections.map((connection) => connection.close()))
  }
}

/** The text is not repeated: it may hold a password. */
function checkUrl(url: string | undefined, command: string): void {
  if (url === undefined || url === '' || url.startsWith('/')) return
  const isGood = URL.canParse(url) && /^(postgres|postgresql|socket):$/.test(new URL(url).protocol)
  if (isGood) return
  throw new UsageError(
    '--url, or DATABASE_URL, is not the address of a PostgreSQL database: it looks like postgres://user:password@127.0.0.1:5432/app.',
    command,
  )
}

function complain(error: unknown, out: Output, isJson: boolean): void {
  const { code, message, cure } = complaintOf(error)
  if (isJson) out.note(JSON.stringify({ error: { code, message, cure } }))
  else out.note(`foothold: ${message}${cure === null ? '' : `\n${cure}`}`)
}
