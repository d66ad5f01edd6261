import { FootholdError } from '../../protocol/errors.ts'
import { grantTo } from '../../store/grants.ts'
import { migrate as applyMigrations } from '../../store/migrate.ts'
import { migrationScript } from '../../store/migration-script.ts'
import type { Command } from '../command.ts'
import { openReached } from '../connection.ts'
import { plainLine } from '../plain-text.ts'
import { UsageError } from '../usage-error.ts'

export const migrate: Command = {
  name: 'migrate',
  summary: 'Bring the schema of the database up to date',
  details: `Applies what is missing, under a lock: several may run at once, and a killed one leaves nothing half done.
With --sql nothing is applied and no database is asked: the migrations are printed as a script for psql, for
databases whose schema an administrator makes. --grant-to gives a role what workers and clients need on the schema and
no right to create anything; repeat it when the owner has changed.`,
  arguments: [],
  options: {
    sql: { about: 'print the migrations as a psql script' },
    'grant-to': { value: '<role>', about: 'let this role work on the schema' },
  },
  async run({ flags, values, command }, { out, isJson, url }) {
    const role = values['grant-to']
    if (role === '') throw new UsageError('--grant-to needs the name of a role.', command)
    if (flags.has('sql')) {
      const sql = migrationScript({ grantTo: role })
      if (isJson) out.document({ sql })
      else out.piece(sql)
      return 0
    }
    if (url === undefined || url === '') throw new FootholdError('DATABASE_URL_MISSING', {})
    // An unreachable database is told at once; migrate() itself would wait a minute for it.
    const db = await openReached(url)
    try {
      const report = await applyMigrations({ url, log: (line) => out.note(line) })
      if (role !== undefined) await grantTo(db, role)
      if (isJson) out.document({ ...report, ...(role === undefined ? {} : { grantedTo: role }) })
      else {
        const done = report.applied.length === 0 ? 'nothing was missing' : `applied ${report.applied.join(', ')}`
        out.line(`The schema is at version ${report.version}; ${done}.`)
        if (role !== undefined) out.line(`The role ${plainLine(role)} can work on it.`)
      }
    } finally {
      await db.close()
    }
    return 0
  },
}
