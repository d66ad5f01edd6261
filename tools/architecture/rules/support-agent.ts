import type { ImportGraph, SourceFile, Violation } from '../import-graph.ts'

const SOURCE = 'apps/support-agent/src/'
const COMPOSITION = /^(main|composition)(\.ts$|\/)/

/** What the agent does speaks to ports; how the world is reached implements them; only the composition knows both. */
export function supportAgentPorts(graph: ImportGraph): Violation[] {
  return [...graph.files.values()]
    .filter((file) => file.path.startsWith(SOURCE) && !file.isTest && !COMPOSITION.test(file.path.slice(SOURCE.length)))
    .flatMap((file) => {
      const own = roomOf(file.path)
      const rooms = new Set([own, ...roomsIn(file)])
      if (!rooms.has('agent') || !rooms.has('integrations')) return []
      const problem =
        own === 'agent' || own === 'integrations'
          ? `${own} may not import ${own === 'agent' ? 'integrations' : 'agent'}: the other side of ports.ts`
          : 'only main.ts and the composition may know both agent and integrations'
      return [{ path: file.path, problem }]
    })
}

/** Ports know neither side, or the border would be a door. */
export function portsStandAlone(graph: ImportGraph): Violation[] {
  const ports = graph.files.get(`${SOURCE}ports.ts`)
  if (ports === undefined) return []
  return roomsIn(ports)
    .filter((room) => room === 'integrations')
    .map((room) => ({ path: ports.path, problem: `ports.ts may not import ${room}` }))
}

function roomsIn(file: SourceFile): string[] {
  return file.imports.flatMap((target) =>
    target.kind === 'file' && target.path.startsWith(SOURCE) ? [roomOf(target.path)] : [],
  )
}

function roomOf(path: string): string {
  return path.slice(SOURCE.length).split('/')[0] ?? ''
}
