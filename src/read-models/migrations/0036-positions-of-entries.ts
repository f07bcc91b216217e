import { sql, type Kysely } from 'kysely';

/** Adds what the positions of assets are computed from, so that they do not depend on the order of events. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql
    .raw('alter table read.asset_status_entries add column position bigint, add column other_assets text[] collate "C"')
    .execute(db);
};
