import { randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import type { SubmitOptions } from '../../src/index.ts'
import { claimTasks } from '../../src/store/claim.ts'
import { BEGINNING, type Claim, type ClaimRequest, type Turn } from '../../src/store/claimable.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { registerWorker } from '../../src/store/workers.ts'
import { agentOf, setup, type World } from './world.ts'

/** Workers that are rows only, and claims made by hand. */
export interface Ground extends World {
  readonly db: Database
  register(workerId: string, handlers?: readonly string[]): Promise<void>
  /** In turn, whatever the claim before said. */
  claim(
    workerId: string,
    limit: number,
    on?: Database,
    options?: { oldestFirst?: boolean; turn?: Turn; kind?: ClaimRequest['kind'] },
  ): Promise<Claim>
  submit(count: number, options?: SubmitOptions): Promise<readonly string[]>
  count(where: string): Promise<number>
  /** Replaces a piece of one of our functions: the negative control. Fails where the piece is missing. */
  cutFunction(name: string, guard: string, instead: string): Promise<void>
}

const HANDLERS = ['test@1']
const agent = agentOf(async () => null)

export async function ground(): Promise<Ground> {
  const world = await setup()
  const { foothold, query } = world
  const db = openDatabase({ url: world.url, poolSize: 4 })
  onTestFinished(() => db.close())
  return {
    ...world,
    db,
    register: (id, handlers = HANDLERS) =>
      registerWorker(
        db,
        { id, release: 'r1', handlers, concurrency: 100, heartbeatMs: 60_000, leaseMs: 600_000, hasLifeline: false },
        new AbortController().signal,
      ),
    claim: (workerId, limit, on = db, { oldestFirst = false, turn = BEGINNING, kind = 'pending' } = {}) =>
      claimTasks(on, {
        workerId,
        claimId: randomUUID(),
        handlers: HANDLERS,
        limit,
        oldestFirst,
        kind,
        turn,
      }),
    async submit(count, options = {}) {
      const ids: string[] = []
      for (let n = 0; n < count; n += 1) ids.push((await foothold.submit(agent, n, options)).id)
      return ids
    },
    async count(where) {
      const [row] = await query<{ n: number }>(`select count(*)::int as n from foothold.tasks where ${where}`)
      return row?.n ?? 0
    },
    async cutFunction(name, guard, instead) {
      const [row] = await query<{ text: string }>(`select pg_get_functiondef($1::regproc) as text`, [name])
      if (row?.text.includes(guard) !== true) throw new Error(`There is no "${guard}" in: ${row?.text}`)
      await query(row.text.replace(guard, instead))
    },
  }
}
