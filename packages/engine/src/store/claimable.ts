/** What the claims have in common: the request and its answer, which handlers are looked at, and which of their tasks. */

export interface ClaimRequest {
  readonly workerId: string
  readonly claimId: string
  readonly handlers: readonly string[]
  readonly limit: number
  /** Now and then by age alone, so that a stream of urgent tasks cannot starve the others. */
  readonly oldestFirst: boolean
  /**
   * - `suspects`: tasks that have cost several workers their life; they run alone
   * - `refused`: tasks that the code of other releases has refused, and this one's has not
   */
  readonly kind: 'pending' | 'suspects' | 'refused'
  /** Not null: under the limits, and tenants in turn (store/claim-in-turn.ts). */
  readonly turn?: Turn | null
}

export interface ClaimedId {
  readonly id: string
  readonly attempt: number
}

/** From which lane and which tenant on the next claim in turn looks; '' is the beginning. */
export interface Turn {
  readonly afterLane: string
  readonly afterTenant: string
}

export interface Claim {
  readonly claimed: readonly ClaimedId[]
  /** Tasks that it met and put aside, since their limit is full. */
  readonly setAside: number
  /** Not null: the next claim is to go in turn, since there are limits, or more tasks of tenants than slots. */
  readonly nextTurn: Turn | null
}

export const BEGINNING: Turn = { afterLane: '', afterTenant: '' }

export const PAUSED = `paused as materialized (
      select coalesce(array_agg(value) filter (where kind = 'agent'), '{}') as agents,
        coalesce(array_agg(value) filter (where kind = 'tenant'), '{}') as tenants,
        coalesce(array_agg(value) filter (where kind = 'release'), '{}') as releases
      from foothold.pauses)`

/** `also`: a condition more under which this worker claims at all. */
export const me = (also: string): string => `me as materialized (
      select release from foothold.workers
      where id = $1 and status = 'active' and lease_until > foothold.clock()
        and release <> all ((select releases from paused)::text[])${also} for key share)`

/** In the order in which they are given. */
export const HANDLERS = `(
        select handler from unnest($3::text[]) with ordinality u(handler, n)
        where split_part(handler, '@', 1) <> all ((select agents from paused)::text[]) order by n) h`

/** Behind coalesce(), whose outcome the planner does not guess: it takes a bare `<> all` for nearly none, and sorts them all. */
export const isFree = (tenant: string): string =>
  `coalesce(${tenant} <> all ((select tenants from paused)::text[]), true)`

/** However many releases there are: so many refusals in a row, and only a person moves the task. */
const REFUSALS_MAX = 20

const OURS: { readonly [Kind in ClaimRequest['kind']]: string } = {
  pending: `status = 'pending' and not suspect
          and (yield_until is null or yield_until <= foothold.clock() or left_release <> (select release from me))`,
  suspects: `status = 'pending' and suspect`,
  refused: `status = 'waiting' and waiting_for = 'code' and not suspect
          and (select release from me) <> all (refused_by) and cardinality(refused_by) < ${REFUSALS_MAX}`,
}

/** Of the rows of foothold.tasks. */
export const isOurs = (kind: ClaimRequest['kind']): string =>
  `${OURS[kind]} and handler = h.handler and exists (select 1 from me)`

/** What makes a task this worker's. */
export const CLAIMED = `
        status = 'processing', attempt = attempt + 1, worker_id = $1, claim_id = $2, claimed_at = foothold.clock(),
        waiting_for = null, wake_at = null, limited_by = null, left_release = null, yield_until = null,
        started_at = coalesce(started_at, foothold.clock()),
        deadline_at = coalesce(deadline_at, foothold.clock() + deadline_ms * interval '1 ms')`
