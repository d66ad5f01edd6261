import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { addCommonJs } from './common-js.ts'
import { publicTypes } from './public-types.ts'
import { type Manifest, publishedManifest } from './published-manifest.ts'
import { addThreadText } from './thread-text.ts'

export interface PackedWorkspace {
  readonly name: string
  readonly tarball: string
}

const run = promisify(execFile)
/** Made here, not by tsc. */
const ADDED = new Set(['commonjs', 'LICENSES.txt'])

/**
 * Packs what `tsc -b` built. From a copy: what is added for consumers (CommonJS, the heartbeat thread as one text) never
 * lies in a working tree, where it would grow old beside newer code.
 */
export async function packWorkspaces(root: string, destination: string): Promise<PackedWorkspace[]> {
  await mkdir(destination, { recursive: true })
  const staging = await mkdtemp(join(tmpdir(), 'foothold-pack-'))
  try {
    const packed: PackedWorkspace[] = []
    for (const folder of await readdir(join(root, 'packages'))) {
      const manifest = JSON.parse(await readFile(join(root, 'packages', folder, 'package.json'), 'utf8')) as Manifest
      if (manifest.private === true) continue
      const copy = join(staging, folder)
      await stage(root, join(root, 'packages', folder), manifest, copy)
      packed.push({ name: manifest.name, tarball: await npmPack(copy, destination) })
    }
    return packed
  } finally {
    await rm(staging, { recursive: true })
  }
}

async function stage(root: string, source: string, manifest: Manifest, copy: string): Promise<void> {
  await mkdir(copy)
  for (const name of [...manifest.files.filter((file) => !ADDED.has(file)), 'README.md']) {
    await cp(join(source, name), join(copy, name), { recursive: true, filter: isForConsumers }).catch((cause) => {
      throw new Error(`${manifest.name} has no ${name}; build it with tsc -b first`, { cause })
    })
  }
  await cp(join(root, 'LICENSE'), join(copy, 'LICENSE'))
  await dropSourceMapComments(join(copy, 'dist'))
  await dropPrivateTypes(copy, manifest)
  await writeFile(join(copy, 'package.json'), `${JSON.stringify(publishedManifest(manifest), null, 2)}\n`)
  if (manifest.name === 'foothold') await addThreadText(copy, root)
  if (manifest.files.includes('commonjs')) await addCommonJs(copy)
}

/** Without the sources their maps lead nowhere; the code is plain enough to be read as it is. */
function isForConsumers(path: string): boolean {
  return !path.endsWith('.map') && !path.endsWith('.tsbuildinfo')
}

async function dropPrivateTypes(copy: string, manifest: Manifest): Promise<void> {
  const kept = await publicTypes(copy, typesOf(manifest))
  for (const name of await readdir(join(copy, 'dist'), { recursive: true })) {
    if (name.endsWith('.d.ts') && !kept.has(join('dist', name))) await rm(join(copy, 'dist', name))
  }
}

/** Of the ES modules; those of CommonJS are copies. */
function typesOf({ exports }: Manifest): string[] {
  return JSON.stringify(exports).match(/dist\/[^"]+\.d\.ts/g) ?? []
}

async function dropSourceMapComments(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith('.js')) continue
    const path = join(folder, name)
    await writeFile(path, (await readFile(path, 'utf8')).replace(/^\/\/# sourceMappingURL=.*\n?/m, ''))
  }
}

async function npmPack(folder: string, destination: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', destination], { cwd: folder })
  return join(destination, tarballIn(stdout))
}

/** npm 10 answers with a list, npm 11 with names and their answers. */
function tarballIn(answer: string): string {
  const found = /"filename": "([^"]+)"/.exec(answer)?.[1]
  if (found === undefined) throw new Error(`npm pack did not say what it made: ${answer}`)
  return found.replace('@', '').replace('/', '-')
}
