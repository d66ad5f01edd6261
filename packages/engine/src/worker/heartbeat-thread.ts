import { parentPort, workerData } from 'node:worker_threads'
import pg from 'pg'
import { monotonicMs, wallMs } from '../lifecycle/clock.ts'
import { sleep } from '../lifecycle/sleep.ts'
import { PAUSES_CHANNEL } from '../store/pauses.ts'
import { HEARTBEAT, PENDING_CHANNEL, PING, type PingRow } from '../store/workers.ts'
import type { FromThread, HeartbeatSettings, Sent, ToThread } from './heartbeat.ts'

/**
 * The worker's signs of life, in a thread and on a session of their own: code that keeps the main loop busy, or a pool
 * full of slow statements, must not make a live worker look dead. For a bounded time: a main loop that never comes back
 * is not kept alive.
 */

const settings = workerData as HeartbeatSettings
const port = parentPort
if (port === null) throw new Error('This file runs as a thread.')

const PING_MS = 1_000
const PAUSE_MAX_MS = 1_000
/** A connection that has not answered for a quarter of the lease is given up: three more tries fit in. */
const answerMs = Math.max(250, settings.leaseMs / 4)

let workerId = settings.workerId
let running = 0
let isTroubled = false
const stopping = new AbortController()
let waking = new AbortController()
let isBeatWanted = true

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
    case 'stop':
      stopping.abort()
      break
  }
  waking.abort()
})

const progress = new BigInt64Array(settings.progress)
const isMainStuck = (): boolean => monotonicMs() - Number(Atomics.load(progress, 0)) > settings.stallMs

async function beat(client: pg.Client): Promise<void> {
  const id = workerId
  const sent = now()
  const { rows } = await client.query<{ databaseMs: number }>(
    `${HEARTBEAT}, (extract(epoch from foothold.clock()) * 1000)::float8 as "databaseMs"`,
    [id, running, settings.heartbeatMs, settings.leaseMs],
  )
  const row = rows[0]
  tell(
    row === undefined
      ? { kind: 'fenced', workerId: id }
      : { kind: 'renewed', workerId: id, sent, databaseMs: row.databaseMs },
  )
}

async function ping(client: pg.Client): Promise<void> {
  const id = workerId
  const sent = now()
  const { rows } = await client.query<PingRow>(PING, [id])
  tell({ kind: 'ping', workerId: id, sent, rows })
}

/** One session's life: until it breaks or the worker stops. */
async function live(client: pg.Client): Promise<void> {
  await client.connect()
  client.on('notification', ({ channel, payload }) => {
    if (channel === PENDING_CHANNEL) return tell({ kind: 'pending', handler: payload ?? '' })
    tell({ kind: 'pauses' })
    // The next ping says which running tasks it is about.
    waking.abort()
  })
  await client.query(`listen ${PENDING_CHANNEL}; listen ${PAUSES_CHANNEL}`)
  let beatDueMs = 0
  while (!stopping.signal.aborted) {
    waking = new AbortController()
    if ((isBeatWanted || monotonicMs() >= beatDueMs) && !isMainStuck()) {
      isBeatWanted = false
      beatDueMs = monotonicMs() + settings.heartbeatMs
      await beat(client)
      if (isTroubled) {
        isTroubled = false
        tell({ kind: 'recovered' })
      }
    }
    await ping(client)
    await sleep(
      isMainStuck() ? PING_MS : Math.min(PING_MS, Math.max(0, beatDueMs - monotonicMs())),
      AbortSignal.any([waking.signal, stopping.signal]),
    )
  }
}

async function main(): Promise<void> {
  for (let failures = 0; !stopping.signal.aborted; ) {
    const client = new pg.Client({
      connectionString: settings.url,
      query_timeout: answerMs,
      connectionTimeoutMillis: answerMs,
      keepAlive: true,
      application_name: 'foothold heartbeat',
    })
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
      void client.end().catch(() => undefined)
    }
    const pauseMs = Math.min(PAUSE_MAX_MS, 20 * 2 ** Math.min(failures, 10))
    if (!stopping.signal.aborted) await sleep(pauseMs / 2 + (Math.random() * pauseMs) / 2, stopping.signal)
  }
}

void main().finally(() => port.close())
