import type pg from 'pg'
import { reach } from '../lifecycle/probe.ts'
import { decode, encode } from '../protocol/codec.ts'
import { FootholdError, ReasonedError } from '../protocol/errors.ts'
import type { Queryable, StepContext, StepOptions } from '../protocol/task-context.ts'
import type { Database } from '../store/database.ts'
import { failureKind, sqlState } from '../store/sqlstate.ts'
import { readStep, type StepWriteAnswer, storeStepStatement } from '../store/steps.ts'
import type { Execution } from './execution.ts'
import {
  backOffLeft,
  progressOf,
  type StepProgress,
  type TryContext,
  throwIfFinal,
  tryUntilStored,
} from './step-runner.ts'
import { BLANK_WRITE } from './step-write.ts'

/**
 * The user's writes and the step's result commit together, or not at all. The fence comes last, so that the task row is
 * locked for the milliseconds before the COMMIT and not while user code runs.
 */

export async function runTransaction(
  execution: Execution,
  sessions: Database,
  key: string,
  run: (sql: Queryable, context: StepContext) => Promise<unknown>,
  options: StepOptions,
): Promise<unknown> {
  const step = execution.open(key, 'transaction', options.version ?? 1)
  if (step?.status === 'completed') return execution.valueOf(step)
  throwIfFinal(step)
  const progress = progressOf(execution, key, 'transaction', options, step)
  await backOffLeft(execution, step)
  return tryUntilStored(execution, progress, (context) => attempt(execution, sessions, progress, run, context))
}

async function attempt(
  execution: Execution,
  sessions: Database,
  progress: StepProgress,
  run: (sql: Queryable, context: StepContext) => Promise<unknown>,
  context: TryContext,
): Promise<unknown> {
  const startedMs = execution.services.clock.monotonicMs()
  const session = await checkOut(sessions)
  if (context.signal.aborted) {
    session.release()
    throw context.signal.reason
  }
  let isClean = false
  let isAuthors = false
  // An aborted try must not leave its locks until the code comes back: ending the session rolls back at once.
  const sql = guarded(session, progress.timeoutMs)
  const abandon = (): void => session.release(new Error('the transaction was abandoned'))
  context.signal.addEventListener('abort', abandon, { once: true })
  try {
    // The server ends a transaction whose owner has gone silent: nobody else can.
    const silenceMs = Math.min(Math.ceil(progress.timeoutMs) + 1_000, INT_MAX)
    await session.query(`begin; set local idle_in_transaction_session_timeout = ${silenceMs}`)
    let output: string
    isAuthors = true
    try {
      const result = await context.limited(() => run(sql.queryable, context))
      output = encode(result, `the result of transaction ${JSON.stringify(progress.key)}`)
    } finally {
      sql.revoke()
    }
    isAuthors = false
    requireOpen(session)
    await reach('transaction.ran', execution.fence.taskId, progress.key)
    await context.shown()
    const write = {
      ...BLANK_WRITE,
      taskId: execution.fence.taskId,
      attempt: execution.fence.attempt,
      key: progress.key,
      kind: 'transaction' as const,
      version: progress.version,
      status: 'completed' as const,
      tries: progress.tries + 1,
      output,
      usage: context.usageText(),
      startedAgoMs: execution.services.clock.monotonicMs() - startedMs,
    }
    const statement = storeStepStatement(execution.fence.workerId, write)
    const answer = (await session.query<StepWriteAnswer>(statement.text, statement.values)).rows[0]
    if (answer?.held !== true || !answer.stored) {
      await session.query('rollback')
      isClean = true
      return await outcomeElsewhere(execution, progress.key, answer?.held === true)
    }
    await commit(session)
    isClean = true
    await reach('transaction.committed', execution.fence.taskId, progress.key)
    return decode(output)
  } catch (error) {
    // What the author's code throws of its own is its own, whatever it is called.
    if (!isAuthors || sql.threw(error)) return await afterFailure(execution, progress.key, error)
    throw error
  } finally {
    context.signal.removeEventListener('abort', abandon)
    if (!context.signal.aborted) session.release(isClean ? undefined : new Error('the transaction failed'))
  }
}

/** PostgreSQL's largest setting in milliseconds. */
const INT_MAX = 2 ** 31 - 1

/** Several statements in one text can end a transaction unseen; what followed would have been stored by halves. */
function requireOpen(session: pg.PoolClient): void {
  const status = (session as unknown as { getTransactionStatus(): string | null }).getTransactionStatus()
  if (status === 'T' || status === 'E') return
  throw new FootholdError('INVALID_ARGUMENT', {
    field: 'sql.query',
    problem: 'the transaction was ended inside the function',
    cure: 'Throw to roll back; use savepoints inside.',
  })
}

async function checkOut(sessions: Database): Promise<pg.PoolClient> {
  try {
    return await sessions.checkOut()
  } catch (error) {
    throw new ReasonedError('No database session for the transaction', { reason: 'database_unavailable', cause: error })
  }
}

/** A COMMIT after a failed statement is answered, without an error, by ROLLBACK. */
async function commit(session: pg.PoolClient): Promise<void> {
  const { command } = await session.query('commit')
  if (command !== 'COMMIT') throw new ReasonedError('the transaction was rolled back', { reason: 'database_error' })
}

async function outcomeElsewhere(execution: Execution, key: string, isHeld: boolean): Promise<unknown> {
  if (!isHeld) execution.loseLease()
  const { services, fence } = execution
  const step = await readStep(services.db, fence.taskId, key, execution.statement('reading a step'))
  return decode(step?.output ?? 'null')
}

/** The connection may have died with the COMMIT on its way: the step row says whether it happened. */
async function afterFailure(execution: Execution, key: string, error: unknown): Promise<unknown> {
  if (sqlState(error) === null && !isConnectionLoss(error)) throw error
  const { services, fence } = execution
  const step = await readStep(services.db, fence.taskId, key, execution.statement('reading a step'))
  if (step?.status === 'completed') return decode(step.output as string)
  if (isConnectionLoss(error) || failureKind(error) === 'away') {
    const message = error instanceof Error ? error.message : String(error)
    throw new ReasonedError(message, { reason: 'database_unavailable', cause: error })
  }
  throw error
}

/** What pg throws when the socket, not the server, ended a query: it has no codes of its own for that. */
function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return /connection|timeout|not queryable|ECONN|EPIPE|socket/i.test(`${error.message} ${code}`)
}

const TRANSACTION_CONTROL = /^\s*(begin|start\s+transaction|commit|end|rollback|abort|prepare\s+transaction)\b/i

/** The user's view of the session: ends with the function, and cannot end the transaction itself. */
function guarded(
  session: pg.PoolClient,
  timeoutMs: number,
): { readonly queryable: Queryable; revoke(): void; threw(error: unknown): boolean } {
  let isRevoked = false
  const errors = new Set<unknown>()
  return {
    queryable: {
      async query(text, values) {
        if (isRevoked) {
          throw new FootholdError('INVALID_ARGUMENT', {
            field: 'sql.query',
            problem: 'the transaction has ended',
            cure: 'Await every query inside the function.',
          })
        }
        if (TRANSACTION_CONTROL.test(text) && !/^\s*rollback\s+to\b/i.test(text)) {
          throw new FootholdError('INVALID_ARGUMENT', {
            field: 'sql.query',
            problem: 'the transaction is begun and ended by task.transaction',
            cure: 'Throw to roll back; use savepoints inside.',
          })
        }
        // As long as the step may take: the limit of the engine's own statements is too short for people's.
        const query = { text, values: values ?? [], query_timeout: timeoutMs }
        return session
          .query(values === undefined ? ({ text, query_timeout: timeoutMs } as typeof query) : query)
          .catch((error: unknown) => {
            errors.add(error)
            throw error
          })
      },
    },
    revoke: () => {
      isRevoked = true
    },
    threw: (error) => errors.has(error),
  }
}
