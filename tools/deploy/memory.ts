const UNIT_BYTES: Readonly<Record<string, number>> = {
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
}

/** How much of its container's memory V8's old generation may take. */
export function heapShare(nodeOptions: string | undefined, limit: string | undefined): number {
  const heapMb = /--max-old-space-size=(\d+)/.exec(nodeOptions ?? '')?.[1]
  const [, count, unit = ''] = /^(\d+)(\w+)$/.exec(limit ?? '') ?? []
  const unitBytes = UNIT_BYTES[unit]
  if (heapMb === undefined || count === undefined || unitBytes === undefined) {
    throw new Error(`No share of ${limit} can be read from NODE_OPTIONS=${nodeOptions}.`)
  }
  return (Number(heapMb) * 2 ** 20) / (Number(count) * unitBytes)
}
