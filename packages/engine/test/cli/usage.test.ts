import { expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { cli } from './cli-world.ts'

const ID = '0199d2c4-7e1f-7a30-8c5e-2f6b1d9a4e07'

/** What is typed, and what the answer must hold. None of it needs a database. */
const MISTAKES: readonly [string, readonly string[]][] = [
  ['taks list', ['There is no command "taks".', 'Did you mean "tasks"?', 'See foothold --help']],
  ['resume', ['There is no command "resume".', 'Did you mean "tasks resume"?']],
  ['tasks shwo', ['There is no command "tasks shwo".', 'Did you mean "tasks show"?', 'See foothold tasks --help']],
  ['tasks decide', ['Did you mean "decide"?']],
  ['tasks', ['tasks needs one of: list, show, watch, cancel, resume, restart.']],
  ['полный-бред', ['There is no command "полный-бред".']],
  ['tasks list --stauts x', ['tasks list has no option "--stauts".', 'Did you mean "--status"?']],
  ['migrate --status x', ['migrate has no option "--status".']],
  ['tasks list --status compelted', ['--status: there is no status "compelted".', 'Did you mean completed?']],
  ['tasks list --limit 0', ['--limit: "0" is not a whole number from 1 to 200.']],
  ['tasks list --limit 1e2', ['--limit: "1e2" is not a whole number']],
  ['tasks list --status --json', ['--status needs a value: --status <status>']],
  ['tasks list --json=yes', ['--json takes no value.']],
  ['tasks list --limit 1 --limit 2', ['--limit is given twice.']],
  ['tasks show', ['<id> is missing: the task.', 'See foothold tasks show --help']],
  ['tasks show 17', ['"17" is not a task id: an id looks like 0199']],
  [`tasks show ${ID} ${ID}`, ['is one word too many for tasks show.']],
  [`tasks restart ${ID}`, ['--from <step> is missing']],
  [`decide ${ID} возврат --by анна`, ['Give either --done <json> or --not-done.']],
  [`decide ${ID} возврат --done null --not-done --by анна`, ['Give either --done <json> or --not-done.']],
  [`decide ${ID} возврат --not-done`, ['--by <name> is missing']],
  [`decide ${ID} возврат --done нет --by анна`, ['--done is not JSON: "нет". Text needs its quotes']],
  ['worker ./нет-такого.js', ['There is no module "./нет-такого.js"']],
  ['worker нет-такого-пакета', ['does not exist, and no package is called so']],
  ['worker ./packages/engine/src/protocol/names.ts', ['exports no agent, but check']],
  ['pause', ['Give one of --agent <name>, --tenant <tenant> and --release <label>.']],
  ['pause --agent a --release r', ['Give one of --agent']],
  ['resume-agent', ['Give one of --agent']],
  ['unpuase --agent a', ['Did you mean "unpause"?']],
  ['pause support', ['is one word too many for pause']],
  ['workers --url тайный-адрес', ['is not the address of a PostgreSQL database']],
]

test.each(MISTAKES)('foothold %s is wrong usage, and the answer says how it is right', async (line, parts) => {
  const answer = await cli(line.split(' '), { DATABASE_URL: 'postgres://u@127.0.0.1:1/x' })

  expect(answer).toMatchObject({ code: 2, stdout: '' })
  for (const part of parts) expect(answer.stderr).toContain(part)
  expect(answer.stderr).not.toMatch(/\n +at /)
})

test('an address that is none is not repeated: it may hold a password', async () => {
  const answer = await cli(['workers'], { DATABASE_URL: 'postgers://анна:тайна@db/app' })

  expect(answer.code).toBe(2)
  expect(answer.stderr).not.toContain('тайна')
})

test('without an address the answer names the variable and the option', async () => {
  const answer = await cli(['tasks', 'list'])

  expect(answer.code).toBe(1)
  expect(answer.stderr).toMatch(/Set DATABASE_URL[^]+--url/)
})

test('with --json what went wrong is one JSON document on stderr', async () => {
  const answer = await cli(['tasks', 'show', 'x', '--json'])

  expect(JSON.parse(answer.stderr)).toEqual({
    error: {
      code: 'USAGE',
      message: expect.stringContaining('is not a task id'),
      cure: 'See foothold tasks show --help',
    },
  })
  expect(answer.stdout).toBe('')
})

test('every command has its help, with each of its arguments and options', async () => {
  const overview = await cli(['--help'])
  for (const command of COMMANDS) {
    const [long, asked] = await Promise.all([
      cli([...command.name.split(' '), '--help']),
      cli(['help', ...command.name.split(' ')]),
    ])

    expect(long).toMatchObject({ code: 0, stderr: '' })
    expect(asked.stdout).toBe(long.stdout)
    expect(overview.stdout).toContain(`  ${command.name} `)
    for (const name of Object.keys(command.options)) expect(long.stdout).toContain(`--${name}`)
    for (const { name } of command.arguments) expect(long.stdout).toContain(`<${name}>`)
  }
})

test('nothing at all is answered with the overview, as wrong usage; a family of commands with its own', async () => {
  expect(await cli([])).toMatchObject({ code: 2, stdout: expect.stringContaining('usage: foothold <command>') })
  const family = await cli(['tasks', '--help'])
  expect(family).toMatchObject({ code: 0, stdout: expect.stringContaining('tasks restart <id>') })
  expect(family.stdout).not.toContain('migrate')
})

test('an option of one name takes a value in every command, or in none', () => {
  const seen = new Map<string, boolean>()
  for (const { options } of COMMANDS) {
    for (const [name, { value }] of Object.entries(options)) {
      expect(seen.get(name) ?? value !== undefined, name).toBe(value !== undefined)
      seen.set(name, value !== undefined)
    }
  }
})
