import { statement } from './statement.js';

/** The database's clock as an SQL expression, in ms since 1970. */
export const CLOCK = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint';

export const READ_CLOCK = statement('clock-read', {}, { now: 'bigint' }, `select ${CLOCK} as now`);

/** Two statements that return the server process behind a connection, one for each client of the pool mode detection. */
export const BACKEND_OF = [
  statement('backend-of-first', {}, { pid: 'integer', whose: 'integer' }, 'select pg_backend_pid() as pid, 0 as whose'),
  statement(
    'backend-of-second',
    {},
    { pid: 'integer', whose: 'integer' },
    'select pg_backend_pid() as pid, 1 as whose',
  ),
] as const;

/** Takes an advisory lock, which is visible in one database only. */
export const LOCK_UNTIL_COMMIT = statement(
  'lock-until-commit',
  { key: 'bigint' },
  { is_locked: 'boolean' },
  `select pg_advisory_xact_lock($1) is not null as is_locked`,
);
export const LOCK_IF_FREE = statement(
  'lock-if-free',
  { key: 'bigint' },
  { is_locked: 'boolean' },
  `select pg_try_advisory_xact_lock($1) as is_locked`,
);

/** Reads the settings that decide whether a commit waits for a standby. */
export const STANDBYS = statement(
  'standbys',
  {},
  { names: 'text', commit: 'text' },
  `select current_setting('synchronous_standby_names') as names, current_setting('synchronous_commit') as commit`,
);
