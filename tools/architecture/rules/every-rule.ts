import type { ImportGraph, Violation } from '../import-graph.ts'
import { noCycles } from './cycles.ts'
import { engineDependencies, engineRooms, protocolIsPure, sqlInStore } from './engine-rooms.ts'
import { environmentAtTheEdge } from './environment.ts'
import {
  declaredArrows,
  everyImportLeadsSomewhere,
  noDeepImports,
  packageArrows,
  testingStaysInTests,
} from './package-borders.ts'
import { portsStandAlone, supportAgentPorts } from './support-agent.ts'

export type Rule = (graph: ImportGraph) => Violation[]

/** The borders, each under the sentence that docs/architecture.md states. */
export const EVERY_RULE: Readonly<Record<string, Rule>> = {
  'in the engine, rooms import downwards only and siblings do not know each other': engineRooms,
  'the engine depends on pg alone, and protocol on nothing': engineDependencies,
  'protocol has no clock, no randomness and no process': protocolIsPure,
  'SQL lives in the store': sqlInStore,
  'a package uses only the packages it may': packageArrows,
  'package.json declares no forbidden dependency': declaredArrows,
  'packages know each other by exported names only': noDeepImports,
  'foothold/testing is used by tests only': testingStaysInTests,
  'every relative import leads to a file': everyImportLeadsSomewhere,
  'the support agent reaches the world through ports': supportAgentPorts,
  'ports know no integration': portsStandAlone,
  'only main.ts and config.ts read the environment': environmentAtTheEdge,
  'no file imports itself through others': noCycles,
}
