import type { Command } from '../command.ts'
import { optionalPackage } from '../optional-package.ts'

const PACKAGE = '@foothold/demo'

/** The part of the package that is used here; its types are not: this library does not depend on it. */
interface DemoPackage {
  readonly runDemo: (surroundings: {
    readonly argv: readonly string[]
    readonly env: NodeJS.ProcessEnv
    readonly stdin: NodeJS.ReadStream
    readonly stdout: NodeJS.WriteStream
    readonly stderr: NodeJS.WriteStream
  }) => Promise<number>
}

export const demo: Command = {
  name: 'demo',
  summary: 'Kill, freeze and replace workers with your own keys, and see what is lost: nothing',
  details: `Needs no database: it brings a PostgreSQL, stand-ins of the services and two workers, and takes all of it away at
its end. Needs the package ${PACKAGE}.
With --play it runs by itself: at least 40 requests, 3 kill -9, 2 deploys and a freeze longer than the lease; exit code 1
when anything was lost or done twice.`,
  arguments: [],
  options: {
    play: { about: 'a script instead of keys, with a verdict' },
    seed: { value: '<n>', about: 'another course of events, 1 by default' },
    guard: { value: '<on|off>', about: 'off: the same agent written without Foothold' },
    lang: { value: '<ru|en>', about: "the screen's language, by default the terminal's" },
  },
  handlesStop: true,
  async run({ values, flags, command }, { env, cwd, isJson }) {
    const { runDemo } = await optionalPackage<DemoPackage>(PACKAGE, { cwd, command })
    const argv = [
      ...(flags.has('play') ? ['--play'] : []),
      ...(isJson ? ['--json'] : []),
      ...['seed', 'guard', 'lang'].flatMap((name) => (values[name] === undefined ? [] : [`--${name}=${values[name]}`])),
    ]
    const { stdin, stdout, stderr } = process
    return runDemo({ argv, env, stdin, stdout, stderr })
  },
}
