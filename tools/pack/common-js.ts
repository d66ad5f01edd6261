import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { build, transform } from 'esbuild'

/**
 * What the package exports once more as CommonJS, for Jest and for bundles in that format: Node itself requires ES
 * modules since 20.19. One file for each entry and for what they share: a file for each module would carry more of the
 * format than of ours. The types are the same; the folder's package.json says which kind they describe.
 */
export async function addCommonJs(folder: string): Promise<void> {
  const [from, to] = [join(folder, 'dist'), join(folder, 'commonjs')]
  const { outputFiles } = await build({
    entryPoints: await entriesOf(folder),
    outbase: from,
    outdir: to,
    bundle: true,
    splitting: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    write: false,
  })
  for (const { path, text } of outputFiles) await writeCommonJs(path, text)
  for (const name of await readdir(from, { recursive: true })) {
    if (name.endsWith('.d.ts')) await cp(join(from, name), join(to, name))
  }
  await writeFile(join(to, 'package.json'), '{ "type": "commonjs" }\n')
}

async function entriesOf(folder: string): Promise<string[]> {
  const { exports } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly import: { readonly default: string } }>>
  }
  return Object.values(exports).map((entry) => join(folder, entry.import.default))
}

async function writeCommonJs(path: string, text: string): Promise<void> {
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    // Who wants to read it has the ES modules beside it.
    minifyWhitespace: true,
    // Code in CommonJS has no address; what asks for it knows (lifecycle/thread.ts).
    logOverride: { 'empty-import-meta': 'silent' },
  })
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, code)
}
