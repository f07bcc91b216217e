import { sql, type Kysely } from 'kysely';

/**
 * Adds the counts from which false positives of whole days are read. The projection `records` of this version fills the
 * table in a rebuild after the upgrade; until then, the rows of `counted_threats` are counted.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql
    .raw(
      `create table read.counted_threat_days (
        organization text collate "C" not null,
        day integer not null,
        type text collate "C" not null,
        counted bigint not null check (counted > 0),
        false_positives bigint not null check (false_positives between 0 and counted),
        primary key (organization, day, type)
      ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)`,
    )
    .execute(db);
};
