import { sql, type Kysely } from 'kysely';

/** The columns of `service` that name an organization, a key or an endpoint. */
const NAMING: readonly (readonly [table: string, column: string])[] = [
  ['dispute_contacts', 'organization'],
  ['webhook_progress', 'endpoint'],
  ['webhook_attempts', 'endpoint'],
  ['webhook_tests', 'organization'],
  ['ingest_usage', 'organization'],
  ['event_usage', 'owner'],
  ['rejections', 'owner'],
  ['rejections', 'key_id'],
  ['key_uses', 'key_id'],
];

/**
 * Creates the tables of erasures, and triggers that keep processes from storing rows of an erased organization. Processes
 * write these rows from memory, up to a minute after the request, so that a row may be written after it was erased.
 * Repeatable, because the schema `service` stays when an operator drops the schema `read`.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  const statements = [
    `create table if not exists service.erased_names (
      digest text collate "C" not null,
      log_id text not null,
      primary key (digest)
    )`,
    `create table if not exists service.erasures (
      digest text collate "C" not null,
      started_at bigint not null,
      position bigint not null,
      next bigint not null,
      events jsonb not null default '{}',
      rows jsonb not null default '{}',
      first_position bigint,
      last_position bigint,
      primary key (digest)
    )`,
    `create or replace function service.is_erased(name text) returns boolean language sql stable as $$
      select exists (
        select from (select distinct log_id from service.erased_names) l
        join service.erased_names e on e.digest = encode(sha256(convert_to(l.log_id || ':' || name, 'UTF8')), 'hex')
      )
    $$`,
    `create or replace function service.skip_erased() returns trigger language plpgsql as $$
    begin
      return case when service.is_erased(to_jsonb(new) ->> tg_argv[0]) then null else new end;
    end
    $$`,
    ...NAMING.map(
      ([table, column]) => `
        create or replace trigger skip_erased_${column} before insert on service.${table}
        for each row execute function service.skip_erased('${column}')`,
    ),
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
};
