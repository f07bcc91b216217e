import { nullable, statement } from './statement.js';

/** The process of the server behind a connection, asked by two clients. */
export const BACKEND_OF = [
  statement('backend-of-first', {}, { pid: 'integer', whose: 'integer' }, 'select pg_backend_pid() as pid, 0 as whose'),
  statement(
    'backend-of-second',
    {},
    { pid: 'integer', whose: 'integer' },
    'select pg_backend_pid() as pid, 1 as whose',
  ),
] as const;

/** The same on a server and its standbys. */
export const IDENTITY = statement(
  'identity',
  {},
  { identity: 'text' },
  `select s.system_identifier || '/' || d.oid as identity from pg_control_system() s, pg_database d
    where d.datname = current_database()`,
);

/** Whether a server takes writes, and since which promotion. */
export const STANDING = statement(
  'standing',
  {},
  { timeline: nullable('integer') },
  `select case when not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off'
    then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end as timeline`,
);
export const IS_READ_ONLY = statement(
  'is-read-only',
  {},
  { is_read_only: 'boolean' },
  `select current_setting('transaction_read_only') = 'on' as is_read_only`,
);
/** Whether a commit waits for a standby. */
export const STANDBYS = statement(
  'standbys',
  {},
  { names: 'text', commit: 'text' },
  `select current_setting('synchronous_standby_names') as names, current_setting('synchronous_commit') as commit`,
);
