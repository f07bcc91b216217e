import { sql, type Kysely } from 'kysely';

/** Null in rows that version 2.2 wrote: it does not know `expiresAt`. */
const STATEMENTS = [
  'alter table read.asset_status_entries add column if not exists expires_at bigint',
  `alter table read.asset_statuses
    add column if not exists expires_at bigint, add column if not exists followers jsonb`,
  'alter table read.register add column if not exists expires_at bigint',
];

/** Adds from when on the entries of the status history do not decide any more, and which entries decide then. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
};
