import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/**
 * Keeps an earlier library as one file for the tests of mixed fleets, which run it beside the present one:
 *
 *   node --import tsx tools/pack/library-before.ts <tag or commit of the release before>
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
const target = join(root, 'packages/engine/test/library-before')

const [reference] = process.argv.slice(2)
if (reference === undefined) throw new Error('Give the tag or commit of the library to keep.')
const commit = execFileSync('git', ['rev-parse', '--short=10', reference], { cwd: root, encoding: 'utf8' }).trim()
const folder = mkdtempSync(join(tmpdir(), 'library-before-'))
try {
  const archive = execFileSync('git', ['archive', commit, 'packages/engine'], { cwd: root, maxBuffer: 1e9 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  const source = join(folder, 'packages/engine/src')
  await build({
    entryPoints: { library: join(source, 'index.ts'), 'heartbeat-thread': join(source, 'worker/heartbeat-thread.ts') },
    outdir: target,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: ['pg'],
    banner: { js: `// The library as of ${commit}, by tools/pack/library-before.ts` },
    tsconfigRaw: {},
  })
} finally {
  rmSync(folder, { recursive: true })
}
