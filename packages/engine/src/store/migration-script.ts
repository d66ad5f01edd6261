import { grantStatements } from './grants.ts'
import { checksumOf } from './migrate.ts'
import { MIGRATIONS, type Migration } from './migrations/embedded.ts'

/**
 * All migrations as one script for `psql`, for databases whose schema an administrator makes. It leaves behind exactly
 * what `migrate` would, its ledger included, so that a role without CREATE can start on it.
 */
export function migrationScript({ grantTo }: { readonly grantTo?: string | undefined } = {}): string {
  const grants = grantTo === undefined ? [] : [`${grantStatements(grantTo).join(';\n')};`]
  return `${['\\set ON_ERROR_STOP on', LEDGER, ...MIGRATIONS.map(transactionOf), ...grants].join('\n\n')}\n`
}

const LEDGER = `create schema if not exists foothold;

create table if not exists foothold.migrations (
  version int primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null,
  breaking boolean not null
);`

/** The version's row first: where it has been applied already, the script stops there. */
function transactionOf(migration: Migration): string {
  const { version, name, breaking, sql } = migration
  return `-- ${version}: ${name}
begin;
insert into foothold.migrations (version, name, checksum, applied_at, breaking)
values (${version}, '${name}', '${checksumOf(migration)}', clock_timestamp(), ${breaking});

${sql.trimEnd()}

commit;`
}
