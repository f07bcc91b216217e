import { sql, type Kysely } from 'kysely';

/**
 * The assets of a group in a lasting order, and what each is; the brands of a status entry. Rows of before have neither
 * until they change or are rebuilt: the log says it of them.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    alter table read.grouped_assets
      add column if not exists type text collate "C",
      add column if not exists content text collate "C"`.execute(db);
  await sql`
    create index if not exists grouped_assets_members on read.grouped_assets (organization, group_id, asset)
    where group_id is not null`.execute(db);
  await sql`alter table read.asset_status_entries add column if not exists reviews text[] collate "C"`.execute(db);
};
