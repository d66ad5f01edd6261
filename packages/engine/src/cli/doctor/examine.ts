import type { Database } from '../../store/database.ts'
import {
  readClock,
  readClockShiftSeconds,
  readServer,
  readTableSizes,
  readWork,
  sampleClock,
  samplePooler,
} from '../../store/doctor.ts'
import { findViolations, INVARIANTS } from '../../store/invariants.ts'
import { readLifelineSwitch } from '../../store/lifeline.ts'
import { readLimits } from '../../store/limits.ts'
import { schemaVersion } from '../../store/migrate.ts'
import { readPauses } from '../../store/pauses.ts'
import { readSchedules } from '../../store/schedules.ts'
import { complaintOf } from '../complaint.ts'
import { type Check, warning } from './check.ts'
import { poolerCheck } from './pooler.ts'
import { clockShiftCheck, schemaCheck } from './schema-check.ts'
import { clockCheck, serverChecks } from './server-checks.ts'
import {
  invariantCheck,
  lifelineCheck,
  limitsChecks,
  pausesChecks,
  schedulesChecks,
  tablesChecks,
  workChecks,
} from './work-checks.ts'

export interface Patient {
  readonly db: Database
  readonly url: string
  readonly directUrl: string | undefined
}

/** One check after the other: an examination is no load. What cannot be looked at is told and the rest goes on. */
export async function* examine({ db, url, directUrl }: Patient): AsyncGenerator<Check, void, void> {
  yield* await attempted('server', async () => serverChecks(await readServer(db)))
  yield* await attempted('pooler', async () => [poolerCheck('pooler', await samplePooler(url))])
  if (directUrl !== undefined) {
    yield* await attempted('direct url', async () => [poolerCheck('direct url', await samplePooler(directUrl))])
  }
  yield* await attempted('clock', async () => [clockCheck(await sampleClock(db, Date.now))])

  const version = await schemaVersion(db).catch((error: unknown) => error as Error)
  const schema = schemaCheck(version)
  yield schema
  if (schema.level === 'error') return
  yield* await attempted('schema clock', async () => clockShiftCheck(await readClockShiftSeconds(db)))
  yield* await attempted('tables', async () => tablesChecks(await readTableSizes(db)))
  yield* await attempted('handlers', async () => workChecks(await readWork(db)))
  yield* await attempted('pauses', async () => pausesChecks(await readPauses(db), await readClock(db)))
  yield* await attempted('lifeline', async () => [lifelineCheck(await readLifelineSwitch(db), await readClock(db))])
  yield* await attempted('schedules', async () => schedulesChecks(await readSchedules(db), await readClock(db)))
  yield* await attempted('limits', async () => limitsChecks(await readLimits(db)))
  for (const invariant of INVARIANTS) {
    yield* await attempted(invariant.name, async () => [invariantCheck(invariant, await findViolations(db, invariant))])
  }
}

async function attempted(name: string, look: () => Promise<Check[]>): Promise<Check[]> {
  try {
    return await look()
  } catch (error) {
    const { message, cure } = complaintOf(error)
    return [warning(name, `could not be looked at: ${message}`, cure)]
  }
}
