import { parentPort, workerData } from 'node:worker_threads'
import pg from 'pg'
import { monotonicMs, wallMs } from '../lifecycle/clock.ts'
import { sleep } from '../lifecycle/sleep.ts'
import { PAUSES_CHANNEL } from '../store/pauses.ts'
import { HEARTBEAT, PENDING_CHANNEL, PING, type PingRow } from '../store/workers.ts'
import type { FromThread, HeartbeatSettings, Sent, ToThread } from './heartbeat.ts'
import { type Lifeline, openLifeline } from './lifeline.ts'
import { endWhenStuck } from './stuck-main.ts'

/**
 * The worker's signs of life, in a thread and on a session of their own: code that keeps the main loop busy, or a pool
 * full of slow statements, must not make a live worker look dead. For a bounded time: a main loop that never comes back
 * is not kept alive. The same session holds the lifeline and looks out for others.
 */

const settings = workerData as HeartbeatSettings
const port = parentPort
if (port === null) throw new Error('This file runs as a thread.')

const PING_MS = 1_000
const PAUSE_MAX_MS = 1_000
const { heartbeatMs, leaseMs } = settings
/** A connection that has not answered for a quarter of the lease is given up: three more tries fit in. */
const answerMs = Math.max(250, leaseMs / 4)

let workerId = settings.workerId
let running = 0
let isTroubled = false
const stopping = new AbortController()
let waking = new AbortController()
let isBeatWanted = true
let isBeating = false
/** The worker's row is about to say `stopped`: no heartbeat may follow, but the lifeline is held until then. */
let isQuiet = false
/** Through a pooler, for good: the address does not change. */
let isPooled = !settings.lifeline
/** Of the session that lives. */
let lifeline: Lifeline | null = null

const tell = (message: FromThread): void => port.postMessage(message)
const now = (): Sent => ({ monotonicMs: monotonicMs(), wallMs: wallMs() })

port.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'running':
      running = message.running
      return
    case 'identity':
      workerId = message.workerId
      isBeatWanted = true
      break
    case 'beat':
      isBeatWanted = true
      break
    case 'quiet':
      isQuiet = true
      if (!isBeating) tell({ kind: 'quiet' })
      break
    case 'stop':
      stopping.abort()
      break
  }
  waking.abort()
})

const progress = new BigInt64Array(settings.progress)
const isMainStuck = (): boolean => monotonicMs() - Number(Atomics.load(progress, 0)) > settings.stallMs

if (settings.endsWhenStuck) {
  endWhenStuck({ isMainStuck, workerId: () => workerId, stallMs: settings.stallMs })
}

/** Since the last heartbeat. A loop that stands still now cannot say so itself. */
function lagMs(): number {
  const standsStillMs = monotonicMs() - Number(Atomics.load(progress, 0)) - settings.progressMs
  return Math.round(Math.max(Number(Atomics.exchange(progress, 1, 0n)), standsStillMs, 0))
}

/** The server process that answered. */
async function beat(client: pg.Client): Promise<number> {
  const id = workerId
  const sent = now()
  isBeating = true
  try {
    const { rows } = await client.query<{ databaseMs: number; pid: number }>(
      `${HEARTBEAT}, (extract(epoch from foothold.clock()) * 1000)::float8 as "databaseMs", pg_backend_pid() as pid`,
      [id, running, heartbeatMs, leaseMs, !isPooled, lagMs(), process.memoryUsage.rss()],
    )
    const row = rows[0]
    tell(
      row === undefined
        ? { kind: 'fenced', workerId: id }
        : { kind: 'renewed', workerId: id, sent, databaseMs: row.databaseMs },
    )
    return row?.pid ?? 0
  } finally {
    isBeating = false
    if (isQuiet) tell({ kind: 'quiet' })
  }
}

async function ping(client: pg.Client): Promise<void> {
  const id = workerId
  const sent = now()
  const { rows } = await client.query<PingRow>(PING, [id])
  tell({ kind: 'ping', workerId: id, sent, rows, isLifelineHeld: lifeline?.isHeldFor(id) ?? false })
}

/** One session's life: until it breaks or the worker stops. */
async function live(client: pg.Client): Promise<void> {
  await client.connect()
  const sessionSinceMs = monotonicMs()
  client.on('notification', ({ channel, payload }) => {
    if (channel === PENDING_CHANNEL) return tell({ kind: 'pending', handler: payload ?? '' })
    tell({ kind: 'pauses' })
    // The next ping says which running tasks it is about.
    waking.abort()
  })
  await client.query(`listen ${PENDING_CHANNEL}; listen ${PAUSES_CHANNEL}`)
  let beatDueMs = 0
  let pingDueMs = 0
  while (!stopping.signal.aborted) {
    waking = new AbortController()
    if (!isQuiet && (isBeatWanted || monotonicMs() >= beatDueMs) && !isMainStuck()) {
      isBeatWanted = false
      beatDueMs = monotonicMs() + heartbeatMs
      const pid = await beat(client)
      if (lifeline?.isHeldBy(pid) === false) throw new Error('the session has changed under its lock')
      if (isTroubled) {
        isTroubled = false
        tell({ kind: 'recovered' })
      }
    }
    if (!isQuiet && monotonicMs() >= pingDueMs) {
      pingDueMs = monotonicMs() + PING_MS
      lifeline ??= await lifelineOf(client, sessionSinceMs)
      await lifeline?.hold(workerId)
      // Right behind it: from the moment others can see it, the lease has to count it.
      await ping(client)
      await lifeline?.tryToLookOut(monotonicMs())
    }
    await lookOut()
    const dueMs = Math.min(isMainStuck() ? pingDueMs : beatDueMs, pingDueMs, lifeline?.nextLookAtMs ?? pingDueMs)
    const outcome = await sleep(Math.max(0, dueMs - monotonicMs()), AbortSignal.any([waking.signal, stopping.signal]))
    if (outcome === 'aborted') pingDueMs = 0
  }
}

async function lifelineOf(client: pg.Client, sessionSinceMs: number): Promise<Lifeline | null> {
  if (isPooled) return null
  const opened = await openLifeline(client, sessionSinceMs, async () => {
    const another = new pg.Client(sessionSettings('foothold pooler probe'))
    another.on('error', () => undefined)
    await another.connect()
    return another
  })
  if (opened !== null) return opened
  isPooled = true
  // The row says that it has one.
  isBeatWanted = true
  waking.abort()
  tell({ kind: 'pooled' })
  return null
}

async function lookOut(): Promise<void> {
  if (lifeline === null || lifeline.nextLookAtMs === null || monotonicMs() < lifeline.nextLookAtMs) return
  const lost = await lifeline.look(monotonicMs())
  if (lost.length > 0) tell({ kind: 'lost', workerIds: lost })
}

function sessionSettings(name: string): pg.ClientConfig {
  return {
    connectionString: settings.url,
    query_timeout: answerMs,
    connectionTimeoutMillis: answerMs,
    keepAlive: true,
    application_name: name,
  }
}

async function main(): Promise<void> {
  for (let failures = 0; !stopping.signal.aborted; ) {
    const client = new pg.Client(sessionSettings('foothold heartbeat'))
    const broken = new Promise<never>((_, reject) => {
      client.on('error', reject)
      client.on('end', () => reject(new Error('the connection ended')))
    })
    broken.catch(() => undefined)
    const startedMs = monotonicMs()
    try {
      await Promise.race([live(client), broken])
    } catch (error) {
      failures = monotonicMs() - startedMs > PAUSE_MAX_MS ? 1 : failures + 1
      isBeatWanted = true
      if (!isTroubled) tell({ kind: 'trouble', message: error instanceof Error ? error.message : String(error) })
      isTroubled = true
    } finally {
      if (lifeline !== null) tell({ kind: 'broken' })
      lifeline = null
      void client.end().catch(() => undefined)
    }
    const pauseMs = Math.min(PAUSE_MAX_MS, 20 * 2 ** Math.min(failures, 10))
    if (!stopping.signal.aborted) await sleep(pauseMs / 2 + (Math.random() * pauseMs) / 2, stopping.signal)
  }
}

void main().finally(() => port.close())
