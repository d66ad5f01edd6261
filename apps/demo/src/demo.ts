import { setTimeout as pause } from 'node:timers/promises'
import { DemoUsageError, readOptions, USAGE } from './options.ts'
import { playMoments } from './play/play-script.ts'
import { verdictOf } from './play/report.ts'
import { Round } from './play/round.ts'
import { scriptOf } from './play/script.ts'
import { tableOf } from './play/table.ts'
import { WORDS } from './screen/words.ts'
import { openWorld } from './world/world.ts'

export interface DemoSurroundings {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
}

/** The whole demo: resolves with the exit code when nothing of it runs any more. */
export async function runDemo({ argv, env, stdout, stderr }: DemoSurroundings): Promise<number> {
  try {
    const options = readOptions(argv, env)
    const words = WORDS[options.language]
    const script = scriptOf(options.seed)
    const world = await openWorld()
    const stop = new AbortController()
    const round = new Round({
      world,
      guard: options.guard,
      seed: options.seed,
      name: 'R',
      gapMs: script.gapMs,
      requestsMax: script.requests,
      language: () => options.language,
      onNews: (news) => {
        if (news.kind !== 'delivered')
          stderr.write(`${(round.elapsedMs / 1000).toFixed(1).padStart(5)} ${words.news(news)}\n`)
      },
    })
    try {
      await round.start()
      await playMoments(round, script.moments, { writer: () => null, stop: stop.signal })
      while (!round.requestsAreOver) await pause(100)
      await round.settle()
      const report = await round.report()
      stdout.write(options.isJson ? `${JSON.stringify(report)}\n` : `${tableOf(report, words).join('\n')}\n`)
      return verdictOf(report) === 'green' ? 0 : 1
    } finally {
      await round.stop()
      await world.close()
    }
  } catch (error) {
    if (!(error instanceof DemoUsageError)) throw error
    stderr.write(`${error.message}\n${USAGE}\n`)
    return 2
  }
}
