import type { PoolClient } from 'pg';
import type { Recorded } from '../engine/projection.js';
import { READ_REGISTER_CLOCK, SET_REGISTER_CLOCK } from './register-sql.js';

/** Returns the `added_at` of an event, in ms. */
export type DateAdded = (recorded: Recorded) => number;

/**
 * Returns the date added of each event of a batch: the instant at which the log stored the event, except if a clock was
 * set back. Events that the log stored in one millisecond have one date; the dates of successive milliseconds ascend,
 * so that a client that asks for what was added after a date misses nothing. Events before the last known millisecond,
 * which are copies and retried events, keep their own instants. Events of every type count, so that an erasure, which
 * leaves where and when an event was stored, changes no date.
 * @param recorded where and when the log stored the events, in its order
 */
export const datesOf = async (recorded: readonly Recorded[], connection: PoolClient): Promise<DateAdded> => {
  const known = (await READ_REGISTER_CLOCK.run(connection, {}))[0];
  let last = known ? { ...known, position: BigInt(known.position) } : undefined;
  const corrected = new Map<bigint, number>();
  for (const { position, recordedAt } of recorded) {
    if (last && position < last.position) continue;
    if (recordedAt !== last?.recordedAt)
      last = { position, recordedAt, addedAt: Math.max(recordedAt, (last?.addedAt ?? -Infinity) + 1) };
    if (last.addedAt !== recordedAt) corrected.set(position, last.addedAt);
  }
  if (last) await SET_REGISTER_CLOCK.run(connection, last);
  return ({ position, recordedAt }) => corrected.get(position) ?? recordedAt;
};
