import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { packWorkspaces } from '../../tools/pack/pack-workspaces.ts'
import { findNodes, type NodeBinary } from './node-binaries.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the tarball by package name. */
    tarballs: Readonly<Record<string, string>>
    nodes: readonly NodeBinary[]
  }
}

/** Builds and packs once per run, and brings the versions of Node.js that everything is run with. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const folder = await mkdtemp(join(tmpdir(), 'foothold-packed-'))
  await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: root })
  const packed = await packWorkspaces(root, folder)
  project.provide('tarballs', Object.fromEntries(packed.map(({ name, tarball }) => [name, tarball])))
  project.provide('nodes', await findNodes(join(folder, 'nodes')))
  return () => rm(folder, { recursive: true })
}
