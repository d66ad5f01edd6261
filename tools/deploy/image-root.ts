import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { contextFiles } from './build-context.ts'
import { ROOT, readDeployFile } from './deploy-files.ts'
import { type BuildInstruction, parseDockerfile, type Stage } from './dockerfile.ts'

const run = promisify(execFile)

/**
 * Follows the Dockerfile's instructions in folders of this machine, on this Node instead of the base image's: what stands in
 * `/app` of the image stands in the folder's `app`. No container engine is needed, and a build that forgets a file, or a
 * prune that takes one too many, shows.
 */
export async function buildImageRoot(target: string): Promise<{ readonly folder: string; readonly image: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'foothold-image-'))
  const stages = parseDockerfile(readDeployFile('Dockerfile'))
  const built = new Map<string, string>()
  for (const stage of neededFor(stages, target)) built.set(stage.name, await buildStage(folder, stage, built))
  return { folder, image: built.get(target) ?? '' }
}

/** A stage, and all it stands on or copies from, in their order. */
function neededFor(stages: readonly Stage[], target: string): readonly Stage[] {
  const wanted = new Set([target])
  for (const stage of stages.toReversed()) {
    if (!wanted.has(stage.name)) continue
    wanted.add(stage.from)
    for (const { flags } of stage.instructions) {
      for (const flag of flags) if (flag.startsWith('from=')) wanted.add(flag.slice('from='.length))
    }
  }
  const needed = stages.filter(({ name }) => wanted.has(name))
  if (!needed.some(({ name }) => name === target)) throw new Error(`The Dockerfile has no stage ${target}.`)
  return needed
}

async function buildStage(folder: string, stage: Stage, built: ReadonlyMap<string, string>): Promise<string> {
  const root = join(folder, stage.name)
  mkdirSync(root)
  const base = built.get(stage.from)
  if (base !== undefined) copy(base, root)
  let workdir = '/'
  const env: Record<string, string> = {}
  for (const instruction of stage.instructions) {
    switch (instruction.keyword) {
      case 'WORKDIR':
        workdir = instruction.text
        mkdirSync(join(root, workdir), { recursive: true })
        break
      case 'ENV':
        for (const word of instruction.words) env[word.slice(0, word.indexOf('='))] = word.slice(word.indexOf('=') + 1)
        break
      case 'COPY':
        copyInto(root, workdir, instruction, built)
        break
      case 'RUN':
        await runCommand(instruction.text, join(root, workdir), env)
        break
      case 'USER':
      case 'STOPSIGNAL':
      case 'EXPOSE':
      case 'HEALTHCHECK':
      case 'CMD':
        break
      default:
        throw new Error(`The check does not know what ${instruction.keyword} does: teach it in ${import.meta.url}.`)
    }
  }
  return root
}

async function runCommand(command: string, cwd: string, env: Readonly<Record<string, string>>): Promise<void> {
  try {
    await run('sh', ['-c', command], { cwd, env: buildEnvironment(env) })
  } catch (error) {
    // Compilers say on stdout what is wrong.
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`RUN ${command} failed:\n${stdout.slice(-4_000)}${stderr.slice(-4_000)}`, { cause: error })
  }
}

/** Nothing of the surrounding npm or vitest must reach the build. */
function buildEnvironment(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env
  return { PATH, HOME, npm_config_prefer_offline: 'true', npm_config_update_notifier: 'false', ...env }
}

function copyInto(root: string, workdir: string, copied: BuildInstruction, built: ReadonlyMap<string, string>): void {
  const [from = '', to = '', ...more] = copied.words
  const stage = copied.flags.find((flag) => flag.startsWith('from='))?.slice('from='.length)
  if (stage !== undefined) {
    const source = built.get(stage)
    if (source === undefined) throw new Error(`COPY from the unknown stage ${stage}.`)
    return copy(join(source, from), join(root, to))
  }
  if (from !== '.' || to !== '.' || more.length > 0)
    throw new Error(`COPY ${copied.text}: the check knows COPY . . only.`)
  for (const file of contextFiles(ROOT, readDeployFile('Dockerfile.dockerignore'))) {
    const target = join(root, workdir, file)
    mkdirSync(dirname(target), { recursive: true })
    cpSync(join(ROOT, file), target)
  }
}

/** Links as they are: those between workspaces are relative. */
function copy(from: string, to: string): void {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true })
}
