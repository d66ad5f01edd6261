import type { DevPostgres } from '@foothold/dev-postgres'
import pg from 'pg'
import { pauseServer } from '../paused-server.ts'
import type { Crew, Slot } from './crew.ts'
import { type Fault, type FaultKind, isOfTheServer, type ServerFaultKind } from './plan.ts'

/** Faults as they were carried out, to be set against what happened to tasks. */
export interface Injected {
  readonly kind: FaultKind
  /** On the database's clock, which is this machine's. */
  readonly at: Date
  /** Of the worker that was hit; 0 where it was the server. */
  readonly pid: number
  readonly forMs: number
}

/** By a part of their text, one of each kind of write that a worker sends. */
const STATEMENTS = [
  `status = 'processing', attempt = attempt + 1`,
  'on conflict (task_id, key) do update set',
  `'effect', $5, 'intent'`,
  `set status = 'completed', worker_id = null`,
  `set status = 'waiting', worker_id = null`,
  'update foothold.signals set consumed_by',
  'handover_count = handover_count + 1',
  'insert into soak.replies',
  'commit',
  'last_heartbeat_at = foothold.clock()',
  `set status = 'pending', wake_at = null`,
  'crashes_total = t.crashes_total',
] as const

const AN_HOUR_S = 3_600

export function createFaults({ server, crew, log }: { server: DevPostgres; crew: Crew; log: (line: string) => void }): {
  readonly injected: readonly Injected[]
  /** Carries it out and sees to its end. Nothing happens to a worker that is just not there. */
  inject(fault: Fault): void
  /** Resolves when what is under way is over. */
  calm(): Promise<void>
  /** The same, with every worker up again. */
  over(): Promise<void>
} {
  const injected: Injected[] = []
  const underWay = new Set<Promise<void>>()

  const note = (fault: Fault, pid: number): void => {
    injected.push({ kind: fault.kind, at: new Date(), pid, forMs: fault.forMs })
  }

  async function hitWorker(fault: Fault, kind: Exclude<FaultKind, ServerFaultKind>, slot: Slot): Promise<void> {
    const { life } = slot
    if (life === null || !life.isStarted || life.isFrozen || life.isTold) return
    const { process: child } = life
    note(fault, child.pid)
    switch (kind) {
      case 'kill -9':
        return child.kill('SIGKILL')
      case 'SIGTERM':
        life.isTold = true
        return child.kill('SIGTERM')
      case 'SIGSTOP, short':
      case 'SIGSTOP, long':
        life.isFrozen = true
        child.kill('SIGSTOP')
        await passed(fault.forMs)
        child.kill('SIGCONT')
        life.isFrozen = false
        return
      case 'loop blocked':
        return crew.block(slot, fault.forMs)
      case 'answer cut':
      case 'request cut':
        return slot.proxy.cutNext(
          STATEMENTS[fault.choice % STATEMENTS.length] as string,
          kind === 'answer cut' ? 'after' : 'before',
        )
      case 'packets swallowed':
        slot.network.swallow()
        await passed(fault.forMs)
        return slot.network.release()
      case 'clock off':
        crew.skewNext(slot, fault.choice % 2 === 0 ? AN_HOUR_S : -AN_HOUR_S)
        return child.kill('SIGKILL')
    }
  }

  async function hitServer(fault: Fault, kind: ServerFaultKind): Promise<void> {
    note(fault, 0)
    switch (kind) {
      case 'database restarted, fast':
        return server.restart({ mode: 'fast' })
      case 'database restarted, immediate':
        return server.restart({ mode: 'immediate' })
      case 'server paused': {
        const wake = pauseServer(server.pid)
        await passed(fault.forMs)
        return wake()
      }
      case 'backends terminated':
        return terminateBackends(server.url, fault.choice)
    }
  }

  const calm = async (): Promise<void> => void (await Promise.all(underWay))

  return {
    injected,
    inject(fault) {
      const slot = crew.slots[fault.slot] as Slot
      const { kind } = fault
      const hit = isOfTheServer(kind) ? hitServer(fault, kind) : hitWorker(fault, kind, slot)
      const done = hit.catch((error: unknown) => log(`${kind} failed: ${String(error)}`))
      underWay.add(done)
      void done.then(() => underWay.delete(done))
    },
    calm,
    async over() {
      await calm()
      await crew.settle()
    },
  }
}

const passed = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function terminateBackends(url: string, choice: number): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'soak' })
  client.on('error', () => undefined)
  await client.connect()
  try {
    // Sometimes all of them at once, sometimes some.
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name like 'foothold%' and ($1 % 3 = 0 or pid % 3 = $1 % 3)`,
      [choice],
    )
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** The server's processes are its own children, and end with it. */
