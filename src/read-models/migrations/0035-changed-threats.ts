import { sql, type Kysely } from 'kysely';

const STATEMENTS = [
  'drop table read.counted_threats, read.counted_threat_days',
  `create table read.changed_threats (
    organization text collate "C" not null,
    id text collate "C" not null,
    counted_at bigint not null,
    type text collate "C" not null,
    newest_at bigint,
    newest_type text collate "C",
    primary key (organization, id)
  ) with (autovacuum_vacuum_scale_factor = 0.02)`,
  // A range needs only index-only scans.
  'create index changed_threats_by_time on read.changed_threats (organization, counted_at) include (type, newest_at)',
  `create index changed_threats_by_newest on read.changed_threats (organization, newest_at) include (newest_type)
    where newest_at is not null`,
  `create table read.changed_threat_days (
    organization text collate "C" not null,
    day integer not null,
    type text collate "C" not null,
    counted bigint not null,
    false_positives bigint not null check (false_positives >= 0),
    primary key (organization, day, type)
  ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)`,
];

/**
 * Replaces the tables of all threats that ever counted by tables of those whose newest state does not count as the
 * threat counted first. The others are in the facts. No release had the replaced tables. The projection `metrics` of
 * this version fills the new ones in a rebuild after the upgrade; until then, the false positives are unavailable.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
};
