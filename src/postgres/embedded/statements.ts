import { statement } from '../statement.js';

/** A pair of keys, so that the lock cannot collide with the service's other advisory locks, which have a single key. */
const LOCK = '20261125, 1';

/** Marks the server as used by this process, until the connection ends. */
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
/**
 * Returns whether no other process uses the server. In that case, the lock keeps new users out until the connection
 * ends.
 */
export const LOCK_EXCLUSIVELY = statement(
  'embedded-lock-out',
  {},
  { is_last: 'boolean' },
  `select pg_try_advisory_lock(${LOCK}) as is_last`,
);
