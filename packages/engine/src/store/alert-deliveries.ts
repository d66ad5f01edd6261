import type { MessageRef } from '../protocol/alerts.ts'
import { dueDeliveries } from './alerts.ts'
import type { Database } from './database.ts'

/**
 * One channel's message about one group. Whoever sends holds the row by a claim with a lease, so that of all workers one
 * sends at a time; what the channel answered is stored under the same claim.
 */

/** Longer than a send may take, with its statements. */
const LEASE = `interval '30 seconds'`
/** A sender that dies in each of its sends, and its successors, repeat the first message at growing pauses. */
const DOUBLINGS_MAX = 5
/** Between two edits of one message. */
const EDIT_PAUSE = `interval '5 seconds'`
const ERROR_CHARACTERS_MAX = 500

export interface Delivery {
  readonly groupId: string
  readonly claimId: string
  /** What there was to show when it was claimed. */
  readonly version: number
  /** Null: nothing is known to have been sent. */
  readonly messageRef: MessageRef | null
  /** Earlier sends whose outcome nobody knows. */
  readonly doubts: number
  readonly failures: number
}

/**
 * CLAIM of the next message that a channel has to send or edit. A send is counted as doubtful before it begins: a sender
 * that is killed in it leaves that count behind, and a lease that doubles with it. Null: there is nothing to do.
 */
export async function claimDelivery(db: Database, channel: string, claimId: string): Promise<Delivery | null> {
  const rows = await db.run<Omit<Delivery, 'messageRef'> & { messageRef: string | null }>(
    `insert into foothold.alert_deliveries as d (group_id, channel, claim_id, lease_until, due_at, doubts)
     select g.id, $1, $2, foothold.clock() + ${LEASE}, foothold.clock(), 1 from ${dueDeliveries('$1')}
     order by d.group_id is null, g.id limit 1
     on conflict (group_id, channel) do update set
       claim_id = excluded.claim_id,
       doubts = d.doubts + (d.message_ref is null)::int,
       lease_until = excluded.lease_until + ${LEASE} * (power(2, least(d.doubts, ${DOUBLINGS_MAX})) - 1)
     where coalesce(greatest(d.due_at, d.lease_until) <= foothold.clock(), true)
     returning d.group_id::text as "groupId", d.claim_id as "claimId", d.message_ref::text as "messageRef", d.doubts, d.failures,
       (select g.version from foothold.alert_groups g where g.id = d.group_id) as version`,
    [channel, claimId],
    { doing: 'claiming an alert', patienceMs: 0 },
  )
  const row = rows[0]
  if (row === undefined) return null
  return { ...row, messageRef: row.messageRef === null ? null : (JSON.parse(row.messageRef) as MessageRef) }
}

/** The channel shows this version now. False: the claim was lost, and with it the message's name. */
export async function storeShown(
  db: Database,
  { groupId, claimId, version }: Delivery,
  channel: string,
  messageRef: MessageRef,
): Promise<boolean> {
  const rows = await db.run(
    `update foothold.alert_deliveries set message_ref = $4::json, version_shown = $5, shown_at = foothold.clock(),
       due_at = foothold.clock() + ${EDIT_PAUSE}, claim_id = null, lease_until = null, doubts = 0, failures = 0, last_error = null
     where group_id = $1 and channel = $2 and claim_id = $3 returning 1`,
    [groupId, channel, claimId, JSON.stringify(messageRef), version],
    { doing: 'storing that an alert was sent' },
  )
  return rows.length > 0
}

export interface DeliveryFailure {
  readonly message: string
  /** Nothing can have reached the channel. */
  readonly isDefinite: boolean
  readonly pauseMs: number
}

export async function storeDeliveryFailure(
  db: Database,
  { groupId, claimId, messageRef }: Delivery,
  channel: string,
  { message, isDefinite, pauseMs }: DeliveryFailure,
): Promise<void> {
  await db.run(
    `update foothold.alert_deliveries set failures = failures + 1, doubts = doubts - $5::int, last_error = $4,
       due_at = foothold.clock() + $6::float8 * interval '1 ms', claim_id = null, lease_until = null
     where group_id = $1 and channel = $2 and claim_id = $3`,
    [
      groupId,
      channel,
      claimId,
      message.slice(0, ERROR_CHARACTERS_MAX),
      Number(isDefinite && messageRef === null),
      pauseMs,
    ],
    { doing: 'storing that an alert was not sent' },
  )
}
