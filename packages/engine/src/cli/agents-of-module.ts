import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Agent } from '../protocol/agent.ts'
import { UsageError } from './usage-error.ts'

const COMMAND = 'worker'

/** Every agent that a module exports, alone or in an array, each once. */
export async function agentsOfModule(module: string, cwd: string): Promise<readonly Agent[]> {
  const url = urlOf(module, cwd)
  const exported = await importModule(module, url)
  const agents = new Set(Object.values(exported).flat().filter(isAgent))
  if (agents.size > 0) return [...agents]
  const names = Object.keys(exported)
  throw new UsageError(
    `${JSON.stringify(module)} exports no agent, but ${names.length === 0 ? 'nothing' : names.join(', ')}. Export what agent({ … }) returns.`,
    COMMAND,
  )
}

/** By its form, not its class: the module may have a copy of this library of its own. */
function isAgent(value: unknown): value is Agent {
  if (typeof value !== 'object' || value === null) return false
  const { name, version, '~code': code } = value as Partial<Agent>
  return typeof name === 'string' && typeof version === 'number' && typeof code?.run === 'function'
}

function urlOf(module: string, cwd: string): string {
  const path = resolve(cwd, module)
  if (existsSync(path)) return pathToFileURL(path).href
  const isPath = /^(\.{0,2}[/\\]|[A-Za-z]:[/\\])/.test(module)
  if (!isPath) {
    try {
      return pathToFileURL(createRequire(join(cwd, 'package.json')).resolve(module)).href
    } catch {
      // Said below, for both.
    }
  }
  throw new UsageError(
    `There is no module ${JSON.stringify(module)}: ${path} does not exist${isPath ? '' : ', and no package is called so'}.`,
    COMMAND,
  )
}

async function importModule(module: string, url: string): Promise<Record<string, unknown>> {
  try {
    return (await import(url)) as Record<string, unknown>
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'ERR_UNKNOWN_FILE_EXTENSION') {
      throw new UsageError(
        `${JSON.stringify(module)} is not JavaScript, which this Node alone cannot run. For TypeScript: npm install tsx, then NODE_OPTIONS='--import tsx' foothold worker ${module}`,
        COMMAND,
      )
    }
    throw error
  }
}
