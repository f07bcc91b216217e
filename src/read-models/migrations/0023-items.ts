import { sql, type Kysely } from 'kysely';
import type { NumberedMigration } from '../../postgres/migrator.js';

/**
 * Each listed record as the JSON that is shown, instead of a column for each of its fields. The projection reads the log
 * from its beginning again; until it has, lists and the feed answer that they are being filled.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`truncate read.listed_records, read.brand_records, read.reviewed_entries`.execute(db);
  await sql`
    alter table read.listed_records
      drop column updated_at, drop column content, drop column brands, add column item text collate "C"`.execute(db);
  for (const table of ['checkpoints', 'parked_events'])
    await sql`delete from ${sql.id('read', table)} where projection = 'records'`.execute(db);
};

/** Earlier versions read the columns that it drops. */
export const minimalVersion: NumberedMigration['minimalVersion'] = { knows: '0023-items', version: '2.1.0' };
