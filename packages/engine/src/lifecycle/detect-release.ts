import { readFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'

/**
 * Which release this code is, by what stands around it: the environment (our own variable, then what platforms set), the
 * commit that is checked out, the version in package.json. Undefined where nothing tells. Reads files and runs nothing:
 * an image has no git.
 */
export function detectRelease({
  env,
  cwd,
}: {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}): string | undefined {
  return releaseOfEnvironment(env) ?? nearest(cwd, commitOf) ?? nearest(cwd, versionOf)
}

/** In this order: what somebody set by hand comes before what a platform sets by itself. */
const VARIABLES = [
  'FOOTHOLD_RELEASE',
  'RELEASE',
  'GIT_SHA',
  'GIT_COMMIT',
  'COMMIT_SHA',
  // GitLab, GitHub
  'CI_COMMIT_SHA',
  'CI_COMMIT_SHORT_SHA',
  'GITHUB_SHA',
  // Render, Heroku, Vercel, Railway, Coolify, buildpacks
  'RENDER_GIT_COMMIT',
  'HEROKU_SLUG_COMMIT',
  'HEROKU_BUILD_COMMIT',
  'VERCEL_GIT_COMMIT_SHA',
  'RAILWAY_GIT_COMMIT_SHA',
  'SOURCE_COMMIT',
  'SOURCE_VERSION',
  // Cloud Run, Azure Container Apps, Fly
  'K_REVISION',
  'CONTAINER_APP_REVISION',
  'FLY_MACHINE_VERSION',
] as const

/** Shown beside each worker: more says nothing. */
const LABEL_MAX = 100
/** Of a commit; the same whether it comes from a variable or from the files of git. */
const COMMIT_LENGTH = 12
const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/i

function releaseOfEnvironment(env: Readonly<Record<string, string | undefined>>): string | undefined {
  for (const name of VARIABLES) {
    // Set but empty is not set: so it comes out of compose files.
    const value = env[name]?.trim()
    if (value !== undefined && value !== '') return labelOf(value)
  }
  return undefined
}

function labelOf(value: string): string {
  return COMMIT.test(value) ? value.slice(0, COMMIT_LENGTH).toLowerCase() : value.slice(0, LABEL_MAX)
}

/** In the folder or the nearest one above, as git and npm themselves look. */
function nearest(folder: string, look: (folder: string) => string | undefined): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const found = look(at)
    if (found !== undefined || at === dirname(at)) return found
  }
}

function commitOf(folder: string): string | undefined {
  const gitFolder = gitFolderOf(folder)
  if (gitFolder === undefined) return undefined
  const head = textOf(join(gitFolder, 'HEAD'))?.trim()
  const ref = /^ref: (.+)$/.exec(head ?? '')?.[1]
  const commit = ref === undefined ? head : resolveRef(gitFolder, ref)
  return commit !== undefined && COMMIT.test(commit) ? labelOf(commit) : undefined
}

/** A folder, or in worktrees and submodules a file that names it. */
function gitFolderOf(folder: string): string | undefined {
  const dotGit = join(folder, '.git')
  if (textOf(join(dotGit, 'HEAD')) !== undefined) return dotGit
  const named = /^gitdir: (.+)$/m.exec(textOf(dotGit) ?? '')?.[1]?.trim()
  return named === undefined ? undefined : isAbsolute(named) ? named : resolve(folder, named)
}

function resolveRef(gitFolder: string, ref: string): string | undefined {
  // A worktree keeps its HEAD to itself; branches are in the folder that it shares with the others.
  const shared = textOf(join(gitFolder, 'commondir'))?.trim()
  const folders = shared === undefined ? [gitFolder] : [gitFolder, resolve(gitFolder, shared)]
  for (const at of folders) {
    const loose = textOf(join(at, ref))?.trim()
    if (loose !== undefined) return loose
    const packed = textOf(join(at, 'packed-refs'))
    const line = packed?.split('\n').find((one) => one.endsWith(` ${ref}`))
    if (line !== undefined) return line.split(' ')[0]
  }
  return undefined
}

function versionOf(folder: string): string | undefined {
  try {
    const { name, version } = JSON.parse(textOf(join(folder, 'package.json')) ?? '{}') as Record<string, unknown>
    if (typeof version !== 'string') return undefined
    return labelOf(`${typeof name === 'string' ? name : basename(folder)}@${version}`)
  } catch {
    return undefined
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
