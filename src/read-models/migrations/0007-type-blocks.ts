import { sql, type Kysely } from 'kysely';

/** Threats by type are summed from days; one version no longer made the sums of 32 days beside them. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`drop table if exists read.type_blocks`.execute(db);
};
