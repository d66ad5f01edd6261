import type pg from 'pg'
import { claimTasks } from '../../src/store/claim.ts'
import type { Database } from '../../src/store/database.ts'
import { promoteTasks } from '../../src/store/promote.ts'
import { cancelTask, completeTask, deadLetterTask, handOverTask, parkTask } from '../../src/store/settle.ts'
import { storeSignal } from '../../src/store/signals-in.ts'
import { readStepsFrom, requestCancel, restartTask, resumeTask } from '../../src/store/steer.ts'
import { consumeSignal, storeIntent, storeSteps, takeOverIntent } from '../../src/store/steps.ts'
import { insertTask, queryableOf } from '../../src/store/submit.ts'
import { sweepTasks } from '../../src/store/sweep.ts'
import { HEARTBEAT, markDraining, markStopped, reapWorkers, registerWorker } from '../../src/store/workers.ts'
import {
  type Action,
  CONCURRENCY,
  GIVEN_DEADLINE_MS,
  HEARTBEAT_MS,
  LEASE_MS,
  OWN_DEADLINE_MS,
  WAIT_KEY,
  type World,
} from './task-model.ts'

/** The model's actions as the engine's own statements, and the tables as the model sees them. */

export const HANDLER = 'model@1'
const options = { doing: 'testing', patienceMs: 0 }
const CLAIM_ID = '00000000-0000-4000-8000-000000000000'

/** Time stands still but for the action `pass`: what is due is a matter of the model, not of the machine. */
export const MODEL_CLOCK = `
  create schema model;
  create table model.clock (now_ms float8 not null);
  insert into model.clock values (0);
  grant usage on schema model to public;
  grant select on model.clock to public;
  create or replace function foothold.clock() returns timestamptz language sql volatile as
    'select to_timestamp(now_ms / 1000) from model.clock'`

const EMPTY = ['tasks', 'task_payloads', 'agent_steps', 'attempts', 'signals', 'workers', 'dedupe', 'alerts']
  .map((table) => `delete from foothold.${table}`)
  .join(';')

export async function empty(owner: pg.Pool, nowMs: number): Promise<void> {
  await owner.query(`${EMPTY}; update model.clock set now_ms = ${nowMs}`)
}

/** What the statement answers, in the model's words. */
export async function perform(db: Database, owner: pg.Pool, action: Action, nowMs: number): Promise<unknown> {
  switch (action.do) {
    case 'pass':
      await owner.query('update model.clock set now_ms = now_ms + $1', [action.ms])
      return null
    case 'submit':
      return insertTask(
        queryableOf(db, 'testing'),
        {
          id: action.id,
          agent: 'model',
          handler: HANDLER,
          tenant: '',
          limitKey: null,
          dedupe: null,
          priority: action.priority,
          input: '{}',
          isInputChecked: true,
          isInputStable: true,
          runAt: action.inMs === null ? null : new Date(nowMs + action.inMs),
          deadline:
            action.deadline === 'own' ? { afterMs: OWN_DEADLINE_MS } : { at: new Date(nowMs + GIVEN_DEADLINE_MS) },
        },
        { replaceExpiredKey: false },
      )
    case 'register':
      await registerWorker(
        db,
        {
          id: action.id,
          release: action.id,
          handlers: [HANDLER],
          concurrency: CONCURRENCY,
          heartbeatMs: HEARTBEAT_MS,
          leaseMs: LEASE_MS,
          hasLifeline: false,
        },
        new AbortController().signal,
      )
      return null
    case 'heartbeat': {
      const rows = await db.run<{ status: string }>(
        HEARTBEAT,
        [action.workerId, 0, HEARTBEAT_MS, LEASE_MS, false, 0, 0],
        options,
      )
      return rows[0]?.status ?? null
    }
    case 'drain':
      await markDraining(db, action.workerId, 0)
      return null
    case 'stop':
      await markStopped(db, action.workerId, 0)
      return null
    case 'reap': {
      const lost = await reapWorkers(db, { workerId: action.workerId, heartbeatMs: HEARTBEAT_MS, leaseMs: LEASE_MS })
      return lost.map(({ id }) => id).sort()
    }
    case 'sweep': {
      const { swept } = await sweepTasks(db)
      return swept.map(({ id, outcome }) => `${id} ${outcome}`).sort()
    }
    case 'promote':
      return (await promoteTasks(db)).count
    case 'claim': {
      const { workerId, limit } = action
      const kind = action.suspects ? ('suspects' as const) : ('pending' as const)
      const request = { workerId, claimId: CLAIM_ID, handlers: [HANDLER], limit, oldestFirst: false, kind }
      return (await claimTasks(db, request)).claimed.map(({ id, attempt }) => `${id} ${attempt}`).sort()
    }
    case 'step':
      return storeOne(db, action)
    case 'intent':
      return storeIntent(db, action.fence, { ...intentOf(action.key), version: 1, tries: 1 }, options)
    case 'take over':
      return takeOverIntent(db, action.fence, { ...intentOf(action.key), tries: 2 }, options)
    case 'complete':
      return completeTask(db, action.fence, '"done"', options)
    case 'dead letter': {
      const why = { reason: 'step_failed', error: '{}', detail: 'x', failures: 1 }
      return (await deadLetterTask(db, action.fence, why, options)) !== null
    }
    case 'cancelled':
      return cancelTask(db, action.fence, options)
    case 'hand over':
      return (await handOverTask(db, action.fence, { reason: action.reason, detail: null }, options)) !== null
    case 'wait': {
      const isRetry = action.for === 'retry'
      return parkTask(
        db,
        action.fence,
        {
          wakeSeqSeen: action.seen,
          waitingFor: action.for,
          wakeInMs: action.inMs,
          reason: isRetry ? 'step_failed' : null,
          detail: null,
          failures: isRetry ? 1 : 0,
          branches: isRetry ? [] : [{ key: WAIT_KEY, kind: action.for as 'sleep' | 'signal', dueInMs: action.inMs }],
        },
        options,
      )
    }
    case 'consume': {
      const { rows } = await owner.query<{ id: string }>(
        'select id from foothold.signals where task_id = $1 and dedupe_key = $2',
        [action.fence.taskId, action.dedupeKey],
      )
      const wait = { key: WAIT_KEY, signalId: rows[0]?.id ?? '0', output: '"yes"' }
      return consumeSignal(db, action.fence, wait, options)
    }
    case 'signal': {
      const { taskId, dedupeKey } = action
      const answer = await storeSignal(db, { taskId, dedupeKey, name: 'answer', payload: '"yes"' })
      return answer === null ? null : answer.isPending
    }
    case 'cancel':
      return (await requestCancel(db, action.taskId, 'a person'))?.status ?? null
    case 'resume':
      return (await resumeTask(db, action.taskId, action.seen)) !== null
    case 'restart': {
      const steps = await readStepsFrom(db, action.taskId, action.from)
      const forgotten = steps.filter((step) => step.isForgotten).map((step) => step.key)
      return forgotten.length > 0 && (await restartTask(db, action.taskId, action.seen, forgotten)) !== null
    }
  }
}

async function storeOne(db: Database, action: Extract<Action, { do: 'step' }>): Promise<unknown> {
  const [answer] = await storeSteps(
    db,
    action.fence.workerId,
    [
      {
        taskId: action.fence.taskId,
        attempt: action.fence.attempt,
        key: action.key,
        kind: 'step',
        version: 1,
        status: action.status,
        tries: 1,
        retryable: true,
        refusals: 0,
        output: action.status === 'completed' ? action.output : null,
        error: null,
        usage: null,
        dueInMs: null,
        doubtInMs: null,
        startedAgoMs: 0,
      },
    ],
    { ...options, waitForLocks: true },
  )
  return answer
}

const intentOf = (key: string) =>
  ({
    key,
    request: '{}',
    idempotencyKey: 'k',
    doubtForMs: 1_000,
    promise: { keyWindowMs: 60_000, onDoubt: 'find' },
  }) as const

const MS = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`

/** The tables in the model's form, but for what only the model knows: old fences and the time. */
export async function readWorld(owner: pg.Pool): Promise<Omit<World, 'fences' | 'now'>> {
  const { rows } = await owner.query<{ world: Omit<World, 'fences' | 'now'> }>({
    // Planned once.
    name: 'world',
    text: `
    select json_build_object(
      'tasks', coalesce((select json_agg(json_build_object(
          'id', t.id, 'priority', priority, 'runAt', ${MS('run_at')}, 'status', status, 'attempt', attempt, 'workerId', worker_id,
          'crashCount', crash_count, 'crashesTotal', crashes_total, 'handoverCount', handover_count, 'retryCount', retry_count,
          'suspect', suspect, 'lastReason', last_reason, 'waitingFor', waiting_for, 'wakeAt', ${MS('wake_at')}, 'wakeSeq', wake_seq,
          'isCancelRequested', cancel_requested_at is not null, 'deadlineMs', deadline_ms, 'deadlineAt', ${MS('deadline_at')},
          'leftRelease', left_release, 'yieldUntil', ${MS('yield_until')}, 'output', p.output::text, 'hasError', p.error is not null)
        order by t.id) from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id), '[]'),
      'steps', coalesce((select json_agg(json_build_object(
          'taskId', task_id, 'key', key, 'kind', kind, 'status', status, 'tries', tries, 'retryable', retryable, 'attempt', attempt,
          'workerId', worker_id, 'output', output::text, 'dueAt', ${MS('due_at')}, 'startedAt', ${MS('started_at')})
        order by task_id, key) from foothold.agent_steps), '[]'),
      'attempts', coalesce((select json_agg(json_build_object(
          'taskId', task_id, 'attempt', attempt, 'workerId', worker_id, 'outcome', outcome, 'reason', reason)
        order by task_id, attempt) from foothold.attempts), '[]'),
      'signals', coalesce((select json_agg(json_build_object('taskId', task_id, 'dedupeKey', dedupe_key, 'consumedBy', consumed_by)
        order by task_id, dedupe_key) from foothold.signals), '[]'),
      'workers', coalesce((select json_agg(json_build_object(
          'id', id, 'startedAt', ${MS('started_at')}, 'status', status, 'leaseUntil', ${MS('lease_until')}, 'steadySince', ${MS('steady_since')},
          'lastHeartbeatAt', ${MS('last_heartbeat_at')}, 'drainingSince', ${MS('draining_since')}, 'lostWhile', lost_while, 'lostRunning', lost_running)
        order by id) from foothold.workers), '[]')) as world`,
  })
  return (rows[0] as { world: Omit<World, 'fences' | 'now'> }).world
}

export function comparable({ tasks, steps, attempts, signals, workers }: World): Omit<World, 'fences' | 'now'> {
  const by =
    <Row>(...keys: readonly ((row: Row) => string | number)[]) =>
    (a: Row, b: Row): number => {
      for (const key of keys) if (key(a) !== key(b)) return key(a) < key(b) ? -1 : 1
      return 0
    }
  return {
    tasks: tasks.toSorted(by(({ id }) => id)),
    steps: steps.toSorted(
      by(
        ({ taskId }) => taskId,
        ({ key }) => key,
      ),
    ),
    attempts: attempts.toSorted(
      by(
        ({ taskId }) => taskId,
        ({ attempt }) => attempt,
      ),
    ),
    signals: signals.toSorted(
      by(
        ({ taskId }) => taskId,
        ({ dedupeKey }) => dedupeKey,
      ),
    ),
    workers: workers.toSorted(by(({ id }) => id)),
  }
}
