import { sql, type Kysely } from 'kysely';

/** Adds what the verdicts of an entry are computed from, so that they do not depend on the order of its events. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql.raw('alter table read.reviewed_entries add column history jsonb').execute(db);
};
