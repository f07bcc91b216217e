import { sql, type Kysely } from 'kysely';

/**
 * The version of the rules by which a projection's rows were made, so that older rows are found and rebuilt. And each
 * asset of a status as it was reported.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`alter table read.checkpoints add column if not exists version integer not null default 1`.execute(db);
  for (const table of ['asset_status_entries', 'asset_statuses'])
    await sql`alter table ${sql.id('read', table)} add column if not exists content text collate "C"`.execute(db);
};
