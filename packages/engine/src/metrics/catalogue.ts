/**
 * Every metric there is: what is exported, the table in docs/operations.md, and what the dashboards and rules may ask for.
 * Labels have few values by nature: no task ids, step keys or tenants.
 */
export interface MetricSpec {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
  /** Upper bounds, in seconds. */
  readonly buckets?: readonly number[]
}

/** A worker's grace is 6.5 s and its lease 20 s by default: both can be read off. */
const RECOVERY_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 60, 120, 300]
const STEP_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900]
const LAG_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

type MetricKey =
  | 'tasksSubmitted'
  | 'tasksClaimed'
  | 'attemptsEnded'
  | 'handovers'
  | 'orphans'
  | 'workersLost'
  | 'deadLetters'
  | 'recovery'
  | 'stepDuration'
  | 'stepFailures'
  | 'modelTokens'
  | 'workers'
  | 'workerInfo'
  | 'workerSlots'
  | 'workerSlotsInUse'
  | 'heartbeatAge'
  | 'eventLoopLag'
  | 'databaseUp'
  | 'tasks'
  | 'queueOldest'
  | 'systemWorkers'

export const METRICS: Readonly<Record<MetricKey, MetricSpec>> = {
  tasksSubmitted: {
    name: 'foothold_tasks_submitted_total',
    type: 'counter',
    labels: ['agent'],
    help: 'Tasks that this process submitted; a dedupe key that gave an existing one is not counted.',
  },
  tasksClaimed: {
    name: 'foothold_tasks_claimed_total',
    type: 'counter',
    labels: ['agent'],
    help: 'Attempts that this process began.',
  },
  attemptsEnded: {
    name: 'foothold_attempts_ended_total',
    type: 'counter',
    labels: ['agent', 'reason'],
    help: 'Attempts that this process ended, by reason; none is a plain wait. Orphans count where they were swept.',
  },
  handovers: {
    name: 'foothold_handovers_total',
    type: 'counter',
    labels: ['agent'],
    help: 'Tasks that this process gave back unfinished and free of charge.',
  },
  orphans: {
    name: 'foothold_orphans_total',
    type: 'counter',
    labels: ['outcome'],
    help: 'Tasks that this process took from lost workers, by what became of them.',
  },
  workersLost: {
    name: 'foothold_workers_lost_total',
    type: 'counter',
    labels: [],
    help: 'Workers that this process declared lost.',
  },
  deadLetters: {
    name: 'foothold_dead_letters_total',
    type: 'counter',
    labels: ['agent', 'reason'],
    help: 'Tasks that this process made a dead letter.',
  },
  recovery: {
    name: 'foothold_recovery_seconds',
    type: 'histogram',
    labels: ['cause'],
    buckets: RECOVERY_SECONDS,
    help: 'From a handover, or from the last heartbeat of a worker that was lost, to the claim by this process.',
  },
  stepDuration: {
    name: 'foothold_step_duration_seconds',
    type: 'histogram',
    labels: ['agent', 'kind'],
    buckets: STEP_SECONDS,
    help: 'Tries that gave a result, until it was stored.',
  },
  stepFailures: {
    name: 'foothold_step_failures_total',
    type: 'counter',
    labels: ['agent', 'reason'],
    help: 'Tries of steps that failed, by reason; most are tried again.',
  },
  modelTokens: {
    name: 'foothold_model_tokens_total',
    type: 'counter',
    labels: ['agent', 'model', 'direction', 'fate'],
    help: 'Tokens paid for: kept with a stored result, or wasted by a try that gave none. A killed process cannot tell.',
  },
  workers: {
    name: 'foothold_worker_status',
    type: 'gauge',
    labels: ['status'],
    help: 'Workers of this process in each status.',
  },
  workerInfo: {
    name: 'foothold_worker_info',
    type: 'gauge',
    labels: ['release'],
    help: 'Workers of this process that have not stopped, by the release they run.',
  },
  workerSlots: {
    name: 'foothold_worker_slots',
    type: 'gauge',
    labels: [],
    help: 'Tasks that the workers of this process may run at once.',
  },
  workerSlotsInUse: {
    name: 'foothold_worker_slots_in_use',
    type: 'gauge',
    labels: [],
    help: 'Tasks that the workers of this process run now.',
  },
  heartbeatAge: {
    name: 'foothold_worker_heartbeat_age_seconds',
    type: 'gauge',
    labels: [],
    help: 'Since the last heartbeat that the database confirmed; the oldest of the workers of this process.',
  },
  eventLoopLag: {
    name: 'foothold_event_loop_lag_seconds',
    type: 'histogram',
    labels: [],
    buckets: LAG_SECONDS,
    help: 'How much later than due a timer of this process ran, looked at four times a second.',
  },
  databaseUp: {
    name: 'foothold_database_up',
    type: 'gauge',
    labels: [],
    help: 'Whether the database answered when it was last asked for the gauges below.',
  },
  tasks: {
    name: 'foothold_tasks',
    type: 'gauge',
    labels: ['agent', 'status'],
    help: 'Tasks that have not ended, and dead letters, in the whole system; counted up to 10000 for each status.',
  },
  queueOldest: {
    name: 'foothold_queue_oldest_seconds',
    type: 'gauge',
    labels: ['agent'],
    help: 'For how long the oldest pending task has been ready to run, in the whole system.',
  },
  systemWorkers: {
    name: 'foothold_workers',
    type: 'gauge',
    labels: ['status'],
    help: 'Workers with a good lease in the whole system.',
  },
}
