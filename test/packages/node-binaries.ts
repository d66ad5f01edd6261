import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface NodeBinary {
  readonly version: string
  readonly path: string
}

/** The oldest line that has to work, and the recommended one. */
const VERSIONS = ['20.20.2', '24.21.0']

/** This process's own binary where it is of that line, else the one from npm. */
export function findNodes(folder: string): Promise<NodeBinary[]> {
  return Promise.all(
    VERSIONS.map(async (version) => {
      const isOurs = process.versions.node.split('.')[0] === version.split('.')[0]
      if (isOurs) return { version: process.versions.node, path: process.execPath }
      return { version, path: await fromNpm(version, join(folder, version)) }
    }),
  )
}

/** The platform's package alone: the package `node` fetches it in an install script. */
async function fromNpm(version: string, folder: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), JSON.stringify({ dependencies: { [name]: version } }))
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'], {
    cwd: folder,
  })
  return join(folder, 'node_modules', name, 'bin/node')
}
