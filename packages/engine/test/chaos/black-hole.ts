import { onTestFinished } from 'vitest'
import { type Network, openNetwork } from './network.ts'

export type BlackHole = Pick<Network, 'url' | 'swallow' | 'release'>

/** Stands between a client and PostgreSQL, and ends with the test. */
export async function startBlackHole(targetUrl: string): Promise<BlackHole> {
  const network = await openNetwork(targetUrl)
  onTestFinished(() => network.close())
  return network
}
