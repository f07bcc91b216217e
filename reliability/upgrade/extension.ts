import { sql, type Kysely } from 'kysely';
import type { NumberedMigration } from '../../src/postgres/migrator.js';

/** The name of a migration of a later version. */
export const EXTENDED = '9998-extended';

/** Adds a table, and adds a column to a table that is in use. */
export const extension: NumberedMigration = {
  up: async (db: Kysely<unknown>): Promise<void> => {
    await sql`create table read.of_a_later_version (n int)`.execute(db);
    await sql`alter table read.register add column of_a_later_version int`.execute(db);
  },
};
