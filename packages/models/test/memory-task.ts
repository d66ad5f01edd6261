import type { StepContext, StepOptions, TaskContext, TaskId, Usage } from 'foothold'

/** One task in memory: steps stored once under their key, each call of `step` is one try, as a worker makes it. */
export interface MemoryTask {
  readonly task: TaskContext
  readonly stored: ReadonlyMap<string, unknown>
  readonly chunks: readonly { readonly channel: string; readonly chunk: string }[]
  readonly usages: readonly Usage[]
  readonly options: readonly (StepOptions | undefined)[]
  readonly abort: (reason: Error) => void
}

export function memoryTask(): MemoryTask {
  const stored = new Map<string, unknown>()
  const tries = new Map<string, number>()
  const chunks: { channel: string; chunk: string }[] = []
  const usages: Usage[] = []
  const options: (StepOptions | undefined)[] = []
  const stop = new AbortController()

  async function step(key: string, run: (context: StepContext) => unknown, given?: StepOptions): Promise<unknown> {
    options.push(given)
    if (stored.has(key)) return stored.get(key)
    tries.set(key, (tries.get(key) ?? 0) + 1)
    const value = await run({
      signal: stop.signal,
      tries: tries.get(key) as number,
      emit: (channel, chunk) => chunks.push({ channel, chunk }),
      recordUsage: (usage) => usages.push(usage),
    })
    stored.set(key, structuredClone(value))
    return stored.get(key)
  }

  // Only what generate() may touch is there: anything else it calls fails the test.
  const task = { id: '01937b5e-7c1a-7000-8000-000000000001' as TaskId, step } as unknown as TaskContext
  return { task, stored, chunks, usages, options, abort: (reason) => stop.abort(reason) }
}
