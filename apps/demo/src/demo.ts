import { setTimeout as pause } from 'node:timers/promises'
import { type DemoOptions, DemoUsageError, readOptions, USAGE } from './options.ts'
import { playMoments } from './play/play-script.ts'
import { type Report, verdictOf } from './play/report.ts'
import { LEASE_MS, type News, Round } from './play/round.ts'
import { scriptOf } from './play/script.ts'
import { Session } from './play/session.ts'
import { tableOf } from './play/table.ts'
import { frameOf } from './screen/frame.ts'
import { Stage } from './screen/stage.ts'
import { openTerminal, type Terminal } from './screen/terminal.ts'
import { WORDS } from './screen/words.ts'
import { stopSignals } from './stop-signals.ts'
import { openWorld, type World } from './world/world.ts'

export interface DemoSurroundings {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream & { readonly fd: number }
  readonly stderr: NodeJS.WriteStream
}

const FRAME_MS = 100
const SUCCESS = 0
const FAILED = 1
const WRONG_USAGE = 2

/** The whole demo: resolves with the exit code when nothing of it runs any more. */
export async function runDemo(surroundings: DemoSurroundings): Promise<number> {
  const { argv, env, stderr } = surroundings
  try {
    const options = readOptions(argv, env)
    if (!options.isPlay && surroundings.stdin.isTTY !== true)
      throw new DemoUsageError(WORDS[options.language].noTerminal)
    return await show(options, surroundings)
  } catch (error) {
    if (!(error instanceof DemoUsageError)) throw error
    stderr.write(`${error.message}\n${USAGE}\n`)
    return WRONG_USAGE
  }
}

async function show(options: DemoOptions, surroundings: DemoSurroundings): Promise<number> {
  const { stdin, stdout, stderr, env } = surroundings
  const signals = stopSignals()
  const { language, guard, seed, isPlay } = options
  const stage = new Stage({ language, guard, seed, leaseMs: LEASE_MS, hasKeys: !isPlay })
  let session: Session | null = null
  let terminal: Terminal | null = null
  let drawing: NodeJS.Timeout | undefined
  if (stdout.isTTY && !options.isJson) {
    const isColoured = (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
    const onKey = (key: string): void => (key === 'q' ? signals.quit() : session?.press(key))
    const opened = openTerminal({ stdin, stdout, isColoured, onKey })
    terminal = opened
    drawing = setInterval(() => opened.draw(frameOf(stage.view(), opened.size())), FRAME_MS)
  }

  const opening = openWorld()
  const perform = async (): Promise<Report | null> => {
    const world = await opening
    if (signals.stop.aborted) return null
    if (isPlay) {
      const tell = terminal === null ? told(stderr, language) : (news: News): void => stage.note(news)
      return await playScript(world, options, stage, signals.stop, tell)
    }
    session = new Session({ world, stage, seed, stop: signals.stop })
    try {
      await Promise.race([session.play(), signals.stopped])
    } finally {
      await session.stop()
    }
    return null
  }

  let report: Report | null = null
  try {
    report = await perform()
  } catch (error) {
    // What was cut off trips over its end.
    if (!signals.stop.aborted) throw error
  } finally {
    clearInterval(drawing)
    terminal?.restore()
    await opening.then(
      (world) => world.close(),
      () => undefined,
    )
    signals.uninstall()
  }
  // A play that was cut off has no verdict, however it was cut off.
  if (report === null) return isPlay && signals.exitCode === SUCCESS ? FAILED : signals.exitCode
  stdout.write(options.isJson ? `${JSON.stringify(report)}\n` : `${tableOf(report, WORDS[language]).join('\n')}\n`)
  return verdictOf(report) === 'green' ? SUCCESS : FAILED
}

async function playScript(
  world: World,
  { guard, seed, language }: DemoOptions,
  stage: Stage,
  stop: AbortSignal,
  onNews: (news: News) => void,
): Promise<Report | null> {
  const { gapMs, requests, moments } = scriptOf(seed)
  const round = new Round({
    world,
    guard,
    seed,
    name: 'R',
    gapMs,
    requestsMax: requests,
    language: () => language,
    onNews,
    stop,
  })
  try {
    stage.begin(round)
    await round.start()
    stage.opened()
    await playMoments(round, moments, { writer: () => null, stop })
    while (!round.requestsAreOver && !stop.aborted) await pause(FRAME_MS)
    await round.settle()
    stage.finished(round)
    return stop.aborted ? null : await round.report()
  } finally {
    await round.stop()
  }
}

/** Without a screen the news are lines of a log. */
function told(stderr: NodeJS.WriteStream, language: DemoOptions['language']): (news: News) => void {
  const startedAtMs = Date.now()
  return (news) => {
    if (news.kind === 'delivered') return
    const at = ((Date.now() - startedAtMs) / 1_000).toFixed(1).padStart(5)
    stderr.write(`${at} s  ${WORDS[language].news(news)}\n`)
  }
}
