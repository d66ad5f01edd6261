type Exports = Readonly<Record<string, string | Readonly<Record<string, unknown>>>>

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly files: readonly string[]
  readonly exports: Exports
  readonly [field: string]: unknown
}

/** What consumers get: no way to sources that are not shipped, nothing that only this repository needs. */
export function publishedManifest({ devDependencies, scripts, exports, ...manifest }: Manifest): Manifest {
  void devDependencies
  void scripts
  return { ...manifest, exports: withoutSource(exports) }
}

function withoutSource(exports: Exports): Exports {
  return Object.fromEntries(
    Object.entries(exports).map(([path, target]) => {
      if (typeof target === 'string') return [path, target]
      const { '@foothold/source': source, ...conditions } = target
      void source
      return [path, conditions]
    }),
  )
}
