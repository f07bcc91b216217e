import { nullable, statement } from './statement.js';

/** The process of the server behind a connection. */
export const BACKEND = statement('backend', {}, { pid: 'integer' }, 'select pg_backend_pid() as pid');

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
