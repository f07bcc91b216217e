import { sql, type Kysely } from 'kysely';

/**
 * How many attempts came to what, for Prometheus: what is kept of each endpoint goes with it. And the parked events that
 * an endpoint has passed: one that is applied after all is shown where it stands, and is delivered from there on.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    create table read.webhook_outcomes (
      outcome text collate "C" primary key,
      attempts bigint not null
    ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
  await sql`alter table read.webhook_progress add column parked integer, add column parked_from bigint`.execute(db);
};
