import { FootholdError } from '../../protocol/errors.ts'
import { migrate as applyMigrations } from '../../store/migrate.ts'
import { migrationScript } from '../../store/migration-script.ts'
import type { Command } from '../command.ts'
import { openReached } from '../connection.ts'

export const migrate: Command = {
  name: 'migrate',
  summary: 'Bring the schema of the database up to date',
  details: `Applies what is missing, under a lock: several may run at once, and a killed one leaves nothing half done.
With --sql nothing is applied and no database is asked: the migrations are printed as a script for psql, for
databases whose schema an administrator makes.`,
  arguments: [],
  options: { sql: { about: 'print the migrations as a psql script' } },
  async run(given, { out, isJson, url }) {
    if (given.flags.has('sql')) {
      if (isJson) out.document({ sql: migrationScript() })
      else out.piece(migrationScript())
      return 0
    }
    if (url === undefined || url === '') throw new FootholdError('DATABASE_URL_MISSING', {})
    // An unreachable database is told at once; migrate() itself would wait a minute for it.
    await (await openReached(url)).close()
    const report = await applyMigrations({ url, log: (line) => out.note(line) })
    if (isJson) out.document(report)
    else {
      const done = report.applied.length === 0 ? 'nothing was missing' : `applied ${report.applied.join(', ')}`
      out.line(`The schema is at version ${report.version}; ${done}.`)
    }
    return 0
  },
}
