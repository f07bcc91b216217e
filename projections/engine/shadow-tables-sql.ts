import { statement } from '../../src/postgres/statement.js';

export const TRY_LOCK = statement(
  'rebuild-try-lock',
  { lock: 'text' },
  { locked: 'boolean' },
  'select pg_try_advisory_lock(hashtext(:lock)) as locked',
);
/** Takes the same lock until the transaction ends. */
export const TRY_LOCK_UNTIL_COMMIT = statement(
  'rebuild-try-lock-until-commit',
  { lock: 'text' },
  { locked: 'boolean' },
  'select pg_try_advisory_xact_lock(hashtext(:lock)) as locked',
);
export const UNLOCK_ALL = statement('rebuild-unlock-all', {}, 'select from pg_advisory_unlock_all()');

export const COLUMNS_OF_TABLE = statement(
  'verify-columns-of-table',
  { table: 'text' },
  { name: 'text', type: 'text' },
  `
    select column_name::text as name, data_type::text as type from information_schema.columns
    where table_schema = 'read' and table_name = :table order by ordinal_position`,
);

/** The storage parameters of a table, in the syntax of `with (…)`. */
export const STORAGE_PARAMETERS = statement(
  'rebuild-options-of-table',
  { table: 'text' },
  { option: 'text' },
  `
    select unnest(reloptions) as option from pg_class
    where relnamespace = 'read'::regnamespace and relname = :table`,
);

/** The indexes of a shadow table, and the names of the live indexes with the same definition. */
export const SHADOW_INDEXES = statement(
  'rebuild-shadow-indexes',
  { schema: 'text', table: 'text' },
  { name: 'text', live: 'text' },
  `
    with indexes as (
      select n.nspname as schema, i.relname::text as name, x.indisprimary,
        regexp_replace(pg_get_indexdef(x.indexrelid), '^.*? ON \\S+ ', '') as definition, x.indisunique
      from pg_index x
      join pg_class i on i.oid = x.indexrelid
      join pg_class t on t.oid = x.indrelid
      join pg_namespace n on n.oid = t.relnamespace
      where t.relname = :table and n.nspname in ('read', :schema)
    )
    select shadow.name, live.name as live
    from indexes shadow join indexes live using (definition, indisprimary, indisunique)
    where shadow.schema = :schema and live.schema = 'read'`,
);

/** The commands that drop the indexes of a shadow table that enforce nothing. */
export const DROP_SECONDARY_INDEXES = statement(
  'rebuild-drop-secondary-indexes',
  { schema: 'text', table: 'text' },
  { command: 'text' },
  `
    select format('drop index %s', indexrelid::regclass) as command
    from pg_index where indrelid = to_regclass(format('%I.%I', :schema, :table)) and not indisunique`,
);

/** The process of the server that runs the statements of a connection. */
export const READ_BACKEND = statement('rebuild-read-backend', {}, { pid: 'integer' }, 'select pg_backend_pid() as pid');

export const CANCEL_BACKEND = statement(
  'rebuild-cancel-backend',
  { pid: 'integer' },
  { wasRunning: 'boolean' },
  'select pg_cancel_backend(:pid) as "wasRunning"',
);

/** Ends the CSV exports that read a table. */
export const END_EXPORTS = statement(
  'rebuild-end-exports',
  { table: 'text', application: 'text' },
  { wasRunning: 'boolean' },
  `
    select pg_terminate_backend(pid) as "wasRunning" from pg_stat_activity
    where application_name = :application and datname = current_database() and usename = current_user
      and exists (
        select from pg_locks l join pg_class c on c.oid = l.relation
        where l.pid = pg_stat_activity.pid and c.relnamespace = 'read'::regnamespace and c.relname = :table
      )
  `,
);

/** Makes the server end the statements of a transaction if the client is gone, where the platform can tell it. */
export const END_WITH_CLIENT = statement(
  'rebuild-end-with-client',
  {},
  { interval: 'text' },
  `select set_config('client_connection_check_interval', '5s', true) as interval where version() like '%linux%'`,
);

/** The commands that create the indexes of a live table that its shadow table does not have, under the live names. */
export const CREATE_MISSING_INDEXES = statement(
  'rebuild-create-missing-indexes',
  { schema: 'text', table: 'text' },
  { command: 'text' },
  `
    select format('set local default_tablespace = %L; create index %I on %I.%I %s', coalesce(spcname, ''), i.relname,
        :schema, :table, regexp_replace(pg_get_indexdef(i.oid), '^.*? ON \\S+ ', '')) as command
    from pg_index x
    join pg_class i on i.oid = x.indexrelid
    left join pg_tablespace t on t.oid = i.reltablespace
    where x.indrelid = to_regclass(format('read.%I', :table)) and not x.indisunique
      and to_regclass(format('%I.%I', :schema, i.relname)) is null
    order by i.relname`,
);

/**
 * The commands that give the owner and the privileges of a live table to another table of this name, because
 * `create table like` copies neither. The owner comes first, because the owner grants the privileges.
 */
export const ACCESS_OF_TABLE = statement(
  'rebuild-access-of-table',
  { table: 'text' },
  { command: 'text' },
  `
    with live as (
      select oid, oid::regclass::text as name, relowner, relacl from pg_class
      where relnamespace = 'read'::regnamespace and relname = :table
    ),
    granted as (
      select null as attname, a.* from live, aclexplode(relacl) a
      union all
      select attname, a.* from live join pg_attribute on attrelid = live.oid, aclexplode(attacl) a
    )
    select format('alter table %s owner to %s', name, relowner::regrole) as command
    from live where relowner <> current_user::regrole
    union all
    select format('grant %s%s on %s to %s%s', privilege_type, ' (' || quote_ident(attname) || ')', name,
      case when grantee = 0 then 'public' else grantee::regrole::text end,
      case when is_grantable then ' with grant option' end)
    from live, granted where grantee <> relowner`,
);
