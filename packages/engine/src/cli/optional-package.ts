import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A package that this command needs and this library does not bring: whoever only runs workers need not install it. */
export class MissingPackageError extends Error {
  override readonly name: string = 'MissingPackageError'
  readonly package: string

  constructor(packageName: string, command: string) {
    super(`foothold ${command} needs the package ${packageName}, which is not installed here.`)
    this.package = packageName
  }
}

/** First where the command was called, then beside this library: `npx -p` puts both into a folder of its own. */
export async function optionalPackage<Exported>(
  packageName: string,
  { cwd, command }: { readonly cwd: string; readonly command: string },
): Promise<Exported> {
  const found = resolveFrom(cwd, packageName) ?? resolveFrom(import.meta.dirname, packageName)
  if (found === null) throw new MissingPackageError(packageName, command)
  return (await import(found)) as Exported
}

function resolveFrom(folder: string, packageName: string): string | null {
  try {
    return pathToFileURL(createRequire(join(folder, 'package.json')).resolve(packageName)).href
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    if (code === 'MODULE_NOT_FOUND') return null
    throw error
  }
}
