/**
 * The life of tasks and workers as a pure function: what each statement does to the tables, written a second time in plain
 * words. No locks, no rows, no SQL: one action after the other. The statements have to come to the same.
 */

export type TaskStatus = 'pending' | 'processing' | 'waiting' | 'completed' | 'cancelled' | 'dead_letter'

export interface Task {
  readonly id: string
  readonly priority: number
  readonly runAt: number
  status: TaskStatus
  attempt: number
  workerId: string | null
  crashCount: number
  crashesTotal: number
  handoverCount: number
  retryCount: number
  suspect: boolean
  lastReason: string | null
  waitingFor: string | null
  wakeAt: number | null
  wakeSeq: number
  isCancelRequested: boolean
  readonly deadlineMs: number | null
  deadlineAt: number | null
  leftRelease: string | null
  yieldUntil: number | null
  output: string | null
  hasError: boolean
}

export interface Step {
  readonly taskId: string
  readonly key: string
  kind: string
  status: 'intent' | 'waiting' | 'failed' | 'completed'
  tries: number
  retryable: boolean
  attempt: number
  workerId: string
  output: string | null
  dueAt: number | null
  readonly startedAt: number
}

export interface Attempt {
  readonly taskId: string
  readonly attempt: number
  readonly workerId: string
  readonly outcome: string
  readonly reason: string | null
}

export interface Signal {
  readonly taskId: string
  readonly dedupeKey: string
  consumedBy: string | null
}

export interface Worker {
  readonly id: string
  readonly startedAt: number
  status: 'active' | 'draining' | 'stopped' | 'lost'
  leaseUntil: number
  steadySince: number
  lastHeartbeatAt: number
  drainingSince: number | null
  lostWhile: string | null
  lostRunning: number | null
}

/** Each claim's, for ever: workers that have lost their task still try to write. */
export interface Fence {
  readonly taskId: string
  readonly attempt: number
  readonly workerId: string
}

export interface World {
  now: number
  tasks: Task[]
  steps: Step[]
  attempts: Attempt[]
  signals: Signal[]
  workers: Worker[]
  fences: Fence[]
}

export const HEARTBEAT_MS = 1_000
export const LEASE_MS = 4_000
export const CONCURRENCY = 5
export const MAX_CRASHES = 3
const CRASHES_TOTAL_MAX = 10
const YIELD_MS = 5_000
const YIELD_TO_SIGNAL_MS = 250
const NEXT_WORKER_MS = 60_000

export const STEP_KEYS = ['retrieve', 'plan', 'reply'] as const
export const WAIT_KEY = 'answer'

export type Action =
  | {
      readonly do: 'submit'
      readonly id: string
      readonly priority: number
      readonly inMs: number | null
      readonly deadline: 'own' | 'given'
    }
  | { readonly do: 'register'; readonly id: string }
  | { readonly do: 'heartbeat' | 'drain' | 'stop' | 'reap'; readonly workerId: string }
  | { readonly do: 'claim'; readonly workerId: string; readonly limit: number; readonly suspects: boolean }
  | {
      readonly do: 'step'
      readonly fence: Fence
      readonly key: string
      readonly status: 'completed' | 'failed'
      readonly output: string
    }
  | { readonly do: 'intent' | 'take over'; readonly fence: Fence; readonly key: string }
  | { readonly do: 'complete' | 'dead letter' | 'cancelled'; readonly fence: Fence }
  | { readonly do: 'hand over'; readonly fence: Fence; readonly reason: 'graceful_shutdown' | 'paused' }
  | {
      readonly do: 'wait'
      readonly fence: Fence
      readonly seen: number
      readonly for: 'sleep' | 'signal' | 'retry'
      readonly inMs: number | null
    }
  | { readonly do: 'consume'; readonly fence: Fence; readonly dedupeKey: string }
  | { readonly do: 'signal'; readonly taskId: string; readonly dedupeKey: string }
  | { readonly do: 'cancel'; readonly taskId: string }
  | { readonly do: 'resume'; readonly taskId: string; readonly seen: number }
  | { readonly do: 'restart'; readonly taskId: string; readonly seen: number; readonly from: string }
  | { readonly do: 'promote' | 'sweep' }
  | { readonly do: 'pass'; readonly ms: number }

export function emptyWorld(): World {
  return { now: 1_800_000_000_000, tasks: [], steps: [], attempts: [], signals: [], workers: [], fences: [] }
}

/** The world after the action, and what the statement answers. */
export function afterAction(before: World, action: Action): { readonly world: World; readonly answer: unknown } {
  const world = structuredClone(before)
  return { world, answer: act(world, action) }
}

function act(world: World, action: Action): unknown {
  switch (action.do) {
    case 'pass':
      world.now += action.ms
      return null
    case 'submit':
      return submit(world, action)
    case 'register':
      return register(world, action.id)
    case 'heartbeat':
      return heartbeat(world, action.workerId)
    case 'drain':
      return setStatus(world, action.workerId, ['active'], 'draining')
    case 'stop':
      return setStatus(world, action.workerId, ['active', 'draining'], 'stopped')
    case 'reap':
      return reap(world, action.workerId)
    case 'sweep':
      return sweep(world)
    case 'promote':
      return promote(world)
    case 'claim':
      return claim(world, action)
    case 'step':
      return storeStep(world, action)
    case 'intent':
      return storeIntent(world, action)
    case 'take over':
      return takeOver(world, action)
    case 'complete':
      return complete(world, action.fence)
    case 'dead letter':
      return deadLetter(world, action.fence)
    case 'cancelled':
      return cancelled(world, action.fence)
    case 'hand over':
      return handOver(world, action)
    case 'wait':
      return wait(world, action)
    case 'consume':
      return consume(world, action)
    case 'signal':
      return sendSignal(world, action)
    case 'cancel':
      return cancel(world, action.taskId)
    case 'resume':
      return resume(world, action)
    case 'restart':
      return restart(world, action)
  }
}

type Of<Do extends Action['do']> = Action extends infer One
  ? One extends { readonly do: infer D }
    ? Do extends D
      ? One
      : never
    : never
  : never

// ---- a producer -----------------------------------------------------------------------------------

function submit(world: World, { id, priority, inMs, deadline }: Of<'submit'>): 'pending' | 'waiting' | 'nothing' {
  if (world.tasks.some((task) => task.id === id)) return 'nothing'
  const isLater = inMs !== null && inMs > 0
  const runAt = world.now + Math.max(0, inMs ?? 0)
  world.tasks.push({
    id,
    priority,
    runAt,
    status: isLater ? 'waiting' : 'pending',
    attempt: 0,
    workerId: null,
    crashCount: 0,
    crashesTotal: 0,
    handoverCount: 0,
    retryCount: 0,
    suspect: false,
    lastReason: null,
    waitingFor: isLater ? 'start' : null,
    wakeAt: isLater ? runAt : null,
    wakeSeq: 0,
    isCancelRequested: false,
    deadlineMs: deadline === 'own' ? OWN_DEADLINE_MS : null,
    deadlineAt: deadline === 'own' ? null : world.now + GIVEN_DEADLINE_MS,
    leftRelease: null,
    yieldUntil: null,
    output: null,
    hasError: false,
  })
  return isLater ? 'waiting' : 'pending'
}

export const OWN_DEADLINE_MS = 30_000
export const GIVEN_DEADLINE_MS = 20_000

function sendSignal(world: World, { taskId, dedupeKey }: Of<'signal'>): boolean | null {
  const task = taskOf(world, taskId)
  if (task === undefined || isEnded(task)) return null
  task.wakeSeq += 1
  const isBeforeStart = task.waitingFor === 'start'
  if (task.status === 'waiting' && !isBeforeStart) task.status = 'pending'
  if (!isBeforeStart) {
    task.wakeAt = null
    task.waitingFor = null
  }
  const isThere = world.signals.some((one) => one.taskId === taskId && one.dedupeKey === dedupeKey)
  if (!isThere) world.signals.push({ taskId, dedupeKey, consumedBy: null })
  return task.status === 'pending'
}

// ---- workers --------------------------------------------------------------------------------------

function register(world: World, id: string): null {
  if (world.workers.some((worker) => worker.id === id)) return null
  const { now } = world
  world.workers.push({
    id,
    startedAt: now,
    status: 'active',
    leaseUntil: now + LEASE_MS,
    // Steady two heartbeats after its start, not a whole lease.
    steadySince: now - (LEASE_MS - 2 * HEARTBEAT_MS),
    lastHeartbeatAt: now,
    drainingSince: null,
    lostWhile: null,
    lostRunning: null,
  })
  return null
}

function heartbeat(world: World, id: string): string | null {
  const worker = workerOf(world, id)
  if (worker === undefined || !isAtWork(worker)) return null
  const wasInTime = world.now - worker.lastHeartbeatAt <= 2 * HEARTBEAT_MS
  if (!wasInTime) worker.steadySince = world.now
  worker.lastHeartbeatAt = world.now
  worker.leaseUntil = world.now + LEASE_MS
  return worker.status
}

function setStatus(world: World, id: string, from: readonly Worker['status'][], to: Worker['status']): null {
  const worker = workerOf(world, id)
  if (worker === undefined || !from.includes(worker.status)) return null
  worker.status = to
  if (to === 'draining') worker.drainingSince = world.now
  return null
}

/** Only who was steady itself may say that another one is lost. */
function reap(world: World, id: string): readonly string[] {
  const { now } = world
  const reaper = workerOf(world, id)
  const isTrusted =
    reaper !== undefined &&
    isAtWork(reaper) &&
    reaper.steadySince <= now - LEASE_MS &&
    now - reaper.lastHeartbeatAt <= 2 * HEARTBEAT_MS
  if (!isTrusted) return []
  const overdue = world.workers.filter((worker) => isAtWork(worker) && worker.leaseUntil < now)
  for (const worker of overdue) {
    worker.lostWhile = worker.status
    worker.lostRunning = heldBy(world, worker.id).length
    worker.status = 'lost'
  }
  return overdue.map((worker) => worker.id).sort()
}

/** Gives each task that was taken, with what became of it. */
function sweep(world: World): readonly string[] {
  const orphans = world.tasks.filter((task) => {
    if (task.status !== 'processing') return false
    const worker = workerOf(world, task.workerId as string)
    return worker === undefined || worker.status === 'lost' || worker.status === 'stopped'
  })
  // All are judged by what was there before the first was taken.
  const judged = orphans.map((task) => ({ task, ...judge(world, task) }))
  for (const { task, isCrash, crashCount, outcome } of judged) {
    const isOver = outcome !== 'pending'
    endAttempt(
      world,
      task,
      outcome === 'pending' ? 'orphaned' : outcome,
      outcome === 'cancelled' ? 'cancelled' : 'orphaned',
    )
    task.status = outcome
    task.crashCount = crashCount
    task.crashesTotal += isCrash ? 1 : 0
    task.handoverCount += isCrash ? 0 : 1
    task.suspect ||= crashCount >= 2
    task.lastReason = outcome === 'cancelled' ? 'cancelled' : 'orphaned'
    if (isOver && outcome === 'dead_letter') task.hasError = true
  }
  return judged.map(({ task, outcome }) => `${task.id} ${outcome}`).sort()
}

function judge(
  world: World,
  task: Task,
): { isCrash: boolean; crashCount: number; outcome: 'pending' | 'cancelled' | 'dead_letter' } {
  const worker = workerOf(world, task.workerId as string)
  const isCrash = (worker?.lostWhile ?? 'active') === 'active' && (worker?.status ?? 'lost') === 'lost'
  const isAlone = (worker?.lostRunning ?? heldBy(world, task.workerId as string).length) <= 1
  const hasProgress = world.steps.some(
    (step) => step.taskId === task.id && step.attempt === task.attempt && step.status === 'completed',
  )
  const base = hasProgress ? 0 : task.crashCount
  const inCompany = Math.max(base, Math.min(base + 1, MAX_CRASHES - 1))
  const crashCount = !isCrash ? task.crashCount : isAlone ? base + 1 : inCompany
  const isUsedUp = isCrash && (crashCount >= MAX_CRASHES || task.crashesTotal + 1 >= CRASHES_TOTAL_MAX)
  return { isCrash, crashCount, outcome: task.isCancelRequested ? 'cancelled' : isUsedUp ? 'dead_letter' : 'pending' }
}

function promote(world: World): number {
  const due = world.tasks.filter(
    (task) => task.status === 'waiting' && task.wakeAt !== null && task.wakeAt <= world.now,
  )
  for (const task of due) {
    task.status = 'pending'
    task.wakeAt = null
    task.waitingFor = null
    for (const step of world.steps) {
      if (step.taskId !== task.id || step.status !== 'waiting' || step.dueAt === null || step.dueAt > world.now)
        continue
      step.status = 'completed'
      step.output = 'null'
      step.dueAt = null
    }
  }
  return due.length
}

function claim(world: World, { workerId, limit, suspects }: Of<'claim'>): readonly string[] {
  const worker = workerOf(world, workerId)
  if (worker?.status !== 'active' || worker.leaseUntil <= world.now) return []
  const free = world.tasks
    .filter(
      (task) =>
        task.status === 'pending' && task.suspect === suspects && (suspects || !isLeftToOthers(world, task, workerId)),
    )
    .sort((a, b) => (suspects ? 0 : a.priority - b.priority) || a.runAt - b.runAt || (a.id < b.id ? -1 : 1))
    .slice(0, limit)
  for (const task of free) {
    task.status = 'processing'
    task.attempt += 1
    task.workerId = workerId
    task.leftRelease = null
    task.yieldUntil = null
    if (task.deadlineAt === null && task.deadlineMs !== null) task.deadlineAt = world.now + task.deadlineMs
    world.fences.push({ taskId: task.id, attempt: task.attempt, workerId })
  }
  return free.map((task) => `${task.id} ${task.attempt}`).sort()
}

/** For a moment the release that gave a task up does not take it back; here each worker is of a release of its own. */
function isLeftToOthers(world: World, task: Task, workerId: string): boolean {
  return task.yieldUntil !== null && task.yieldUntil > world.now && task.leftRelease === workerId
}

// ---- an attempt -----------------------------------------------------------------------------------

function storeStep(world: World, { fence, key, status, output }: Of<'step'>): { held: boolean; stored: boolean } {
  const task = heldUnder(world, fence)
  if (task === undefined) return { held: false, stored: false }
  const step = stepOf(world, fence.taskId, key)
  if (step === undefined) {
    world.steps.push({
      ...written(fence, status, output),
      taskId: fence.taskId,
      key,
      startedAt: world.now,
    })
  } else if (step.status === 'completed') {
    return { held: true, stored: false }
  } else {
    Object.assign(step, written(fence, status, output))
  }
  return { held: true, stored: true }
}

const written = ({ attempt, workerId }: Fence, status: 'completed' | 'failed', output: string) =>
  ({
    kind: 'step',
    status,
    tries: 1,
    retryable: true,
    attempt,
    workerId,
    output: status === 'completed' ? output : null,
    dueAt: null,
  }) satisfies Partial<Step>

function storeIntent(world: World, { fence, key }: Of<'intent'>): { held: boolean; inserted: boolean } {
  if (heldUnder(world, fence) === undefined) return { held: false, inserted: false }
  if (stepOf(world, fence.taskId, key) !== undefined) return { held: true, inserted: false }
  const { attempt, workerId, taskId } = fence
  world.steps.push({
    taskId,
    key,
    kind: 'effect',
    status: 'intent',
    tries: 1,
    retryable: true,
    attempt,
    workerId,
    output: null,
    dueAt: null,
    startedAt: world.now,
  })
  return { held: true, inserted: true }
}

function takeOver(world: World, { fence, key }: Of<'take over'>): boolean {
  const step = heldUnder(world, fence) && stepOf(world, fence.taskId, key)
  if (step === undefined || (step.status !== 'intent' && step.status !== 'failed')) return false
  Object.assign(step, {
    status: 'intent',
    attempt: fence.attempt,
    workerId: fence.workerId,
    tries: 2,
    retryable: true,
    dueAt: null,
  } satisfies Partial<Step>)
  return true
}

function complete(world: World, fence: Fence): boolean {
  const task = heldUnder(world, fence)
  if (task === undefined) return false
  endAttempt(world, task, 'completed', 'completed')
  task.status = 'completed'
  task.lastReason = null
  task.output = '"done"'
  return true
}

function deadLetter(world: World, fence: Fence): boolean {
  const task = heldUnder(world, fence)
  if (task === undefined || task.isCancelRequested) return false
  endAttempt(world, task, 'dead_letter', 'step_failed')
  task.status = 'dead_letter'
  task.lastReason = 'step_failed'
  task.retryCount += 1
  task.hasError = true
  return true
}

function cancelled(world: World, fence: Fence): boolean {
  const task = heldUnder(world, fence)
  if (task === undefined || !task.isCancelRequested) return false
  endAttempt(world, task, 'cancelled', 'cancelled')
  task.status = 'cancelled'
  task.lastReason = 'cancelled'
  return true
}

function handOver(world: World, { fence, reason }: Of<'hand over'>): boolean {
  const task = heldUnder(world, fence)
  if (task === undefined) return false
  const told = workerOf(world, fence.workerId)?.drainingSince ?? world.now
  const yieldUntil = isNewerAround(world, fence.workerId) ? world.now + YIELD_MS : told + YIELD_TO_SIGNAL_MS
  endAttempt(
    world,
    task,
    task.isCancelRequested ? 'cancelled' : 'handed_over',
    task.isCancelRequested ? 'cancelled' : reason,
  )
  task.status = task.isCancelRequested ? 'cancelled' : 'pending'
  task.lastReason = task.isCancelRequested ? 'cancelled' : reason
  task.handoverCount += 1
  task.leftRelease = fence.workerId
  task.yieldUntil = reason === 'graceful_shutdown' ? yieldUntil : null
  return true
}

function isNewerAround(world: World, workerId: string): boolean {
  const leaver = workerOf(world, workerId)
  return world.workers.some(
    (other) =>
      leaver !== undefined &&
      other.startedAt > leaver.startedAt &&
      other.status === 'active' &&
      other.leaseUntil > world.now &&
      (other.startedAt > world.now - NEXT_WORKER_MS || CONCURRENCY > heldBy(world, other.id).length),
  )
}

function wait(world: World, { fence, seen, for: waitingFor, inMs }: Of<'wait'>): boolean {
  const task = heldUnder(world, fence)
  if (task === undefined || task.wakeSeq !== seen || task.isCancelRequested) return false
  const isRetry = waitingFor === 'retry'
  endAttempt(world, task, 'waiting', isRetry ? 'step_failed' : null)
  const limit = isRetry || task.deadlineMs === null ? task.deadlineAt : null
  const wakes = [...(inMs === null ? [] : [world.now + inMs]), ...(limit === null ? [] : [limit])]
  task.status = 'waiting'
  task.waitingFor = waitingFor
  task.wakeAt = wakes.length === 0 ? null : Math.min(...wakes)
  if (isRetry) {
    task.lastReason = 'step_failed'
    task.retryCount += 1
  } else if (task.deadlineMs !== null) {
    task.deadlineAt = null
  }
  if (!isRetry && stepOf(world, task.id, WAIT_KEY) === undefined) {
    world.steps.push({
      taskId: task.id,
      key: WAIT_KEY,
      kind: waitingFor,
      status: 'waiting',
      tries: 0,
      retryable: true,
      attempt: fence.attempt,
      workerId: fence.workerId,
      output: null,
      dueAt: inMs === null ? null : world.now + inMs,
      startedAt: world.now,
    })
  }
  return true
}

function consume(world: World, { fence, dedupeKey }: Of<'consume'>): boolean {
  const signal = world.signals.find((one) => one.taskId === fence.taskId && one.dedupeKey === dedupeKey)
  if (heldUnder(world, fence) === undefined || signal === undefined || signal.consumedBy !== null) return false
  signal.consumedBy = WAIT_KEY
  const step = stepOf(world, fence.taskId, WAIT_KEY)
  const { attempt, workerId, taskId } = fence
  if (step === undefined) {
    world.steps.push({
      taskId,
      key: WAIT_KEY,
      kind: 'signal',
      status: 'completed',
      tries: 0,
      retryable: true,
      attempt,
      workerId,
      output: '"yes"',
      dueAt: null,
      startedAt: world.now,
    })
    return true
  }
  if (step.status !== 'waiting') return false
  Object.assign(step, { status: 'completed', output: '"yes"', attempt, workerId, dueAt: null } satisfies Partial<Step>)
  return true
}

function endAttempt(world: World, task: Task, outcome: string, reason: string | null): void {
  world.attempts.push({ taskId: task.id, attempt: task.attempt, workerId: task.workerId as string, outcome, reason })
  task.workerId = null
}

// ---- people ---------------------------------------------------------------------------------------

function cancel(world: World, taskId: string): 'cancelled' | 'processing' | null {
  const task = taskOf(world, taskId)
  if (task === undefined || isEnded(task)) return null
  task.isCancelRequested = true
  task.wakeSeq += 1
  task.wakeAt = null
  task.waitingFor = null
  if (task.status === 'processing') return 'processing'
  task.status = 'cancelled'
  task.lastReason = 'cancelled'
  return 'cancelled'
}

function resume(world: World, { taskId, seen }: Of<'resume'>): boolean {
  const task = taskOf(world, taskId)
  if (task?.status !== 'dead_letter' || task.attempt !== seen) return false
  beginAnew(world, task)
  task.hasError = false
  return true
}

function restart(world: World, { taskId, seen, from }: Of<'restart'>): boolean {
  const task = taskOf(world, taskId)
  const first = stepOf(world, taskId, from)
  if (
    task === undefined ||
    !(isEnded(task) || task.status === 'dead_letter') ||
    task.attempt !== seen ||
    first === undefined
  )
    return false
  const forgotten = new Set(
    world.steps.filter((step) => step.taskId === taskId && step.startedAt >= first.startedAt).map((step) => step.key),
  )
  world.steps = world.steps.filter((step) => step.taskId !== taskId || !forgotten.has(step.key))
  for (const signal of world.signals) {
    if (signal.taskId === taskId && signal.consumedBy !== null && forgotten.has(signal.consumedBy))
      signal.consumedBy = null
  }
  beginAnew(world, task)
  task.output = null
  task.hasError = false
  return true
}

function beginAnew(world: World, task: Task): void {
  Object.assign(task, {
    status: 'pending',
    crashCount: 0,
    crashesTotal: 0,
    retryCount: 0,
    suspect: false,
    deadlineAt: task.deadlineMs === null ? task.deadlineAt : null,
    wakeAt: null,
    waitingFor: null,
    isCancelRequested: false,
  } satisfies Partial<Task>)
  for (const step of world.steps) {
    if (step.taskId === task.id && step.status === 'failed')
      Object.assign(step, { tries: 0, retryable: true, dueAt: null })
  }
}

// ---- looking --------------------------------------------------------------------------------------

const isEnded = (task: Task): boolean => task.status === 'completed' || task.status === 'cancelled'
const isAtWork = (worker: Worker): boolean => worker.status === 'active' || worker.status === 'draining'
const taskOf = (world: World, id: string): Task | undefined => world.tasks.find((task) => task.id === id)
const workerOf = (world: World, id: string): Worker | undefined => world.workers.find((worker) => worker.id === id)
const stepOf = (world: World, taskId: string, key: string): Step | undefined =>
  world.steps.find((step) => step.taskId === taskId && step.key === key)
const heldBy = (world: World, workerId: string): readonly Task[] =>
  world.tasks.filter((task) => task.status === 'processing' && task.workerId === workerId)
const heldUnder = (world: World, { taskId, attempt, workerId }: Fence): Task | undefined =>
  heldBy(world, workerId).find((task) => task.id === taskId && task.attempt === attempt)
