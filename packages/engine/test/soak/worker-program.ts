import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** The worker's program from source, put together once: a process that is killed every other second must come up at once. */
export interface WorkerProgram {
  readonly entry: string
  remove(): void
}

const HERE = fileURLToPath(new URL('.', import.meta.url))
const ENGINE = join(HERE, '..', '..', 'src', 'worker')
/** Inside the repository, where the driver and the schema library are found. */
const CACHE = join(HERE, '..', '..', '..', '..', 'node_modules', '.cache')

export async function buildWorkerProgram(): Promise<WorkerProgram> {
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(join(CACHE, 'foothold-soak-'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  // Threads have files of their own beside the program.
  const threads = readdirSync(ENGINE).filter((name) => name.endsWith('-thread.ts'))
  await build({
    entryPoints: [join(HERE, 'soak-worker.ts'), ...threads.map((name) => join(ENGINE, name))],
    outdir: folder,
    entryNames: '[name]',
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    conditions: ['@foothold/source'],
    external: ['pg', 'zod'],
    logLevel: 'warning',
  })
  return { entry: join(folder, 'soak-worker.js'), remove: () => rmSync(folder, { recursive: true, force: true }) }
}
