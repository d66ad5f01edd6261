import { type AdoptedRow, adoptRows } from '../adopt/adopt-rows.ts'
import { adoptionOf } from '../adopt/adoption.ts'
import type { Command } from '../command.ts'
import { plainLine } from '../plain-text.ts'

const OUTCOMES = ['submitted', 'known', 'changed', 'refused', 'skipped'] as const
type Outcome = (typeof OUTCOMES)[number]

const SAID: Readonly<Record<Outcome, string>> = {
  submitted: 'submitted',
  known: 'adopted before, left as they are',
  changed: 'adopted before with another input, left as they are',
  refused: 'that cannot be submitted',
  skipped: 'no longer stuck, or locked by somebody',
}

/** Shown or listed of each outcome; all are counted. */
const SHOWN_MAX = 10
const LISTED_MAX = 1_000
const INPUT_CHARACTERS_MAX = 200

export const adopt: Command = {
  name: 'adopt',
  summary: 'Submit the rows that are stuck in a table of your own',
  details: `Rows in one of the --stuck statuses become tasks, in batches of a transaction each. A row's dedupe key is its table and
id, so doing it again submits nothing twice. With --heartbeat only rows whose heartbeat is older than --stale-seconds
(300), or was never set, are taken; without it stop your own workers first. With --set-status the row's status changes in
the transaction that submits its task, so that nobody else takes it up. --dry-run does all of it and rolls back.`,
  arguments: [],
  options: {
    table: { value: '<schema.name>', about: 'the table, as in SQL' },
    id: { value: '<column>', about: 'what tells its rows apart' },
    status: { value: '<column>', about: 'where a row says how it stands' },
    stuck: { value: '<value,…>', about: 'the statuses that count as stuck' },
    heartbeat: { value: '<column>', about: 'when a worker last gave a sign of life' },
    'stale-seconds': { value: '<n>', about: 'how old that has to be, 300 by default' },
    agent: { value: '<name>', about: 'who takes them over' },
    input: { value: '<key=column,…>', about: 'the input; or one column that holds all of it, or a JSON object' },
    tenant: { value: '<column>', about: 'whose task it is' },
    priority: { value: '<priority>', about: 'live, normal or batch; normal by default' },
    'set-status': { value: '<value>', about: 'what the status of a row becomes' },
    limit: { value: '<n>', about: 'rows at most' },
    'dry-run': { about: 'say what would happen, and change nothing' },
  },
  async run({ values, flags, command }, { out, isJson, connect }) {
    const isDryRun = flags.has('dry-run')
    let connection: Awaited<ReturnType<typeof connect>> | undefined
    const opened = async (): Promise<NonNullable<typeof connection>> => (connection ??= await connect())
    const adoption = await adoptionOf(async () => (await opened()).db, { values, isDryRun, command })
    if (adoption.rows.heartbeat === null) {
      out.note(
        `Every row in status ${adoption.rows.stuck.join(', ')} is taken for stuck: your own workers must not be running.`,
      )
    }
    const counts: Record<Outcome, number> = { submitted: 0, known: 0, changed: 0, refused: 0, skipped: 0 }
    const listed: AdoptedRow[] = []
    const { table } = adoption.rows
    for await (const batch of adoptRows(await opened(), adoption)) {
      for (const row of batch) {
        counts[row.outcome] += 1
        if (counts[row.outcome] <= (isJson ? LISTED_MAX : SHOWN_MAX)) listed.push(row)
      }
      if (!isJson) out.note(`${Object.values(counts).reduce((sum, count) => sum + count)} rows`)
    }
    if (isJson) {
      out.document({
        table: `${table.schema}.${table.name}`,
        handler: adoption.handler,
        isDryRun,
        ...counts,
        rows: listed,
      })
    } else {
      for (const row of listed) if (isDryRun || row.outcome !== 'submitted') out.line(lineOf(row))
      for (const outcome of OUTCOMES) if (counts[outcome] > 0) out.line(`${counts[outcome]} ${SAID[outcome]}`)
      if (Object.values(counts).every((count) => count === 0)) out.line('No row is stuck.')
      else if (isDryRun) out.line('Nothing was changed: this was a dry run.')
      else out.note(`They run as ${plainLine(adoption.handler)}. See: foothold tasks list --agent ${adoption.agent}`)
    }
    return counts.changed + counts.refused > 0 ? 1 : 0
  },
}

function lineOf(row: AdoptedRow): string {
  const start = `${plainLine(row.id)}  ${row.outcome}`
  if (row.outcome === 'refused') return `${start}: ${plainLine(row.message)}`
  if (row.outcome === 'skipped') return start
  if (row.outcome === 'submitted') return `${start} with ${plainLine(row.input.slice(0, INPUT_CHARACTERS_MAX))}`
  return `${start}: task ${row.taskId}`
}
