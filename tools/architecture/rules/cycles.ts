import type { ImportGraph, Violation } from '../import-graph.ts'

/**
 * Each circle of files that need one another at run time, reported once with its way round. Types may refer to each
 * other: a task's context and an agent's definition are one recursive thought.
 */
export function noCycles(graph: ImportGraph): Violation[] {
  const done = new Set<string>()
  const onTheWay: string[] = []
  const found: Violation[] = []

  const visit = (path: string): void => {
    const start = onTheWay.indexOf(path)
    if (start !== -1) {
      found.push({ path, problem: `imports itself: ${[...onTheWay.slice(start), path].join(' -> ')}` })
      return
    }
    if (done.has(path)) return
    onTheWay.push(path)
    for (const target of graph.files.get(path)?.imports ?? []) {
      if (target.kind === 'file' && !target.isTypeOnly) visit(target.path)
    }
    onTheWay.pop()
    done.add(path)
  }

  for (const path of graph.files.keys()) visit(path)
  return found
}
