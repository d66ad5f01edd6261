import type { ServiceAddresses } from '../agent/services.ts'

export type Guard = 'on' | 'off'

/** What a worker process is told when it starts; over its channel, so that no address stands in a list of processes. */
export interface WorkerSettings {
  readonly guard: Guard
  readonly databaseUrl: string
  readonly gigachat: { readonly credentials: string; readonly baseUrl: string; readonly authUrl: string }
  readonly services: ServiceAddresses
  readonly concurrency: number
  readonly release: string
  readonly heartbeatMs: number
  readonly leaseMs: number
}

/** What it tells of its work, as it happens. `stored`: the step's result is kept, here or by an earlier attempt. */
export type WorkEvent =
  | { readonly type: 'begun'; readonly task: string; readonly request: string; readonly attempt: number }
  | {
      readonly type: 'step'
      readonly task: string
      readonly attempt: number
      readonly key: string
      readonly state: 'running' | 'stored' | 'in_memory'
    }
  | { readonly type: 'text'; readonly task: string; readonly attempt: number; readonly text: string }
  | {
      readonly type: 'ended'
      readonly task: string
      readonly attempt: number
      readonly how: 'completed' | 'left'
    }

export type WorkerMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'drained'; readonly handedOver: number }
  | WorkEvent

export type Tell = (event: WorkEvent) => void
