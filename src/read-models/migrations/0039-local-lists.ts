import { sql, type Kysely } from 'kysely';

const TABLES = [
  `create table if not exists service.lists (
    name text collate "C" primary key,
    number bigint not null,
    sha256 bytea not null,
    covers json not null,
    not_covered json not null,
    cut_at bigint not null,
    signature bytea,
    public_key text,
    checked_at bigint not null,
    has_names boolean not null default false
  )`,
  `create table if not exists service.list_versions (
    name text collate "C" not null,
    number bigint not null,
    cut_at bigint not null,
    sha256 bytea not null,
    removed bytea not null,
    added bytea not null,
    hashes bytea,
    primary key (name, number)
  )`,
  // Hashes cannot be compressed.
  `alter table service.list_versions
    alter column removed set storage external, alter column added set storage external,
    alter column hashes set storage external`,
  'create index if not exists list_versions_by_cut on service.list_versions (cut_at)',
  `create index if not exists list_versions_whole on service.list_versions (name, number) where hashes is not null`,
  `create table if not exists service.list_names (
    hash bytea not null,
    is_ask boolean not null,
    expression text collate "C" not null,
    exception_host text collate "C",
    asset_hash text collate "C",
    unlisted_at bigint,
    primary key (hash, is_ask)
  )`,
  `create index if not exists list_names_exceptions on service.list_names (exception_host)
    where exception_host is not null and unlisted_at is null`,
  `create index if not exists list_names_unlisted on service.list_names (unlisted_at) where unlisted_at is not null`,
  `create index if not exists list_names_of_own on service.list_names (asset_hash) where asset_hash <> ''`,
];

/** Adds the versions of local lists. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  for (const statement of TABLES) await sql.raw(statement).execute(db);
};
