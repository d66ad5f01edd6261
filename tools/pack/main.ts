import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packWorkspaces } from './pack-workspaces.ts'

/** `npm run pack -- <folder>`: the tarballs to publish, and the same that test/packages installs. */
const root = fileURLToPath(new URL('../..', import.meta.url))
const destination = resolve(process.argv[2] ?? 'dist/packages')
for (const { name, tarball } of await packWorkspaces(root, destination)) console.log(`${name} ${tarball}`)
