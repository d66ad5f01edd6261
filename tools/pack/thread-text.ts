import { readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'

/** Puts heartbeat-thread.js, with all it imports, as one script into worker/heartbeat-thread-text.js. */
export async function addThreadText(folder: string, root: string): Promise<void> {
  const worker = join(folder, 'dist/worker')
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(worker, 'heartbeat-thread.js')],
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    // The copy lies outside the repository.
    nodePaths: [join(root, 'node_modules')],
    // pg asks for it only where somebody chose it.
    external: ['pg-native'],
    legalComments: 'none',
  })
  const text = outputFiles[0]?.text
  if (text === undefined) throw new Error('The heartbeat thread was not bundled.')
  await writeFile(
    join(worker, 'heartbeat-thread-text.js'),
    `export const HEARTBEAT_THREAD_TEXT = ${JSON.stringify(text)};\n`,
  )
  await writeFile(join(folder, 'LICENSES.txt'), await licences(root, Object.keys(metafile.inputs)))
}

/** Packages inside the text, under the words that their licences want kept. */
async function licences(root: string, inputs: readonly string[]): Promise<string> {
  const names = new Set(inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []))
  const parts = [...names].toSorted().map(async (name) => {
    const folder = join(root, 'node_modules', name)
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string }
    const file = readdirSync(folder).find((entry) => /^licen[sc]e/i.test(entry))
    const words = file === undefined ? 'See its package on npm.' : (await readFile(join(folder, file), 'utf8')).trim()
    return `${name} ${version}\n\n${words}\n`
  })
  const intro = 'worker/heartbeat-thread-text.js contains these packages:\n'
  return [intro, ...(await Promise.all(parts))].join(`\n${'-'.repeat(80)}\n\n`)
}
