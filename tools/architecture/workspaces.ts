import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Workspace {
  readonly name: string
  /** From the repository's root: `packages/engine`. */
  readonly folder: string
  /** What others may write after the name: `.` and `./testing`. */
  readonly exports: readonly string[]
  /** What an installation brings along; development dependencies are not among them. */
  readonly dependencies: readonly string[]
  /** The sources its exports lead to, from the repository's root. */
  readonly entries: readonly string[]
}

const ROOMS = ['packages', 'apps', 'examples']

export function readWorkspaces(root: string): Workspace[] {
  const folders = ROOMS.flatMap((room) => readdirSync(join(root, room)).map((name) => `${room}/${name}`))
  return [...folders, 'simulators']
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => readWorkspace(root, folder))
}

interface Manifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, { readonly '@foothold/source'?: string }>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

function readWorkspace(root: string, folder: string): Workspace {
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest
  const { name, exports = {}, dependencies, optionalDependencies, peerDependencies } = manifest
  return {
    name,
    folder,
    exports: Object.keys(exports),
    dependencies: Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }),
    entries: Object.values(exports).flatMap((target) => {
      const source = target['@foothold/source']
      return source === undefined ? [] : [join(folder, source)]
    }),
  }
}
