import { sql, type Kysely } from 'kysely';

const STATEMENTS = [
  `create table read.counted_threats (
    organization text collate "C" not null,
    id text collate "C" not null,
    version bigint not null,
    event_id uuid not null,
    counts boolean not null,
    counted_at bigint,
    type text collate "C",
    primary key (organization, id)
  ) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02)`,
  // A range needs only an index-only scan.
  `create index counted_threats_by_time on read.counted_threats (organization, counted_at) include (type, counts)
    where counted_at is not null`,
  `create index disputes_by_time on read.disputes (organization, created_at) include (resolved_at, outcome)
    where created_at is not null`,
];

/** Adds the table from which false positives are counted. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
};
