import { statement } from '../statement.js';

/** Two numbers; the other advisory locks of the service have one. */
const LOCK = '20261125, 1';

/** Says for as long as the connection is open that this process uses the server. */
export const BEGIN_USE = statement(
  'embedded-begin-use',
  {},
  { is_locked: 'boolean' },
  `select pg_advisory_lock_shared(${LOCK}) is not null as is_locked`,
);

export const END_USE = statement(
  'embedded-end-use',
  {},
  { ended: 'boolean' },
  `select pg_advisory_unlock_shared(${LOCK}) as ended`,
);
/** Whether that was the last use. New ones are then kept away until the connection ends. */
export const LOCK_EXCLUSIVELY = statement(
  'embedded-lock-out',
  {},
  { is_last: 'boolean' },
  `select pg_try_advisory_lock(${LOCK}) as is_last`,
);
