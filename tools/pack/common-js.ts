import { cp, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'

/**
 * The built modules once more as CommonJS, file by file, for Jest and for bundles in that format: Node itself requires
 * ES modules since 20.19. Their types are the same; the folder's package.json says which kind they describe.
 */
export async function addCommonJs(folder: string): Promise<void> {
  const [from, to] = [join(folder, 'dist'), join(folder, 'commonjs')]
  const names = await readdir(from, { recursive: true })
  await build({
    entryPoints: names.filter((name) => name.endsWith('.js') && !isProgram(name)).map((name) => join(from, name)),
    outbase: from,
    outdir: to,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    // Code in CommonJS has no address; what asks for it knows (lifecycle/thread.ts).
    logOverride: { 'empty-import-meta': 'silent' },
  })
  for (const name of names.filter((path) => path.endsWith('.d.ts') && !isProgram(path))) {
    await cp(join(from, name), join(to, name))
  }
  await writeFile(join(to, 'package.json'), '{ "type": "commonjs" }\n')
}

/** The command and the thread's file are run, never required. */
function isProgram(name: string): boolean {
  return name.startsWith('cli/') || name.startsWith('worker/heartbeat-thread.')
}
