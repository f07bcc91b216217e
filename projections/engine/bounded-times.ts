import { Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { formatInstant } from '../../src/events/instant.js';
import { throttle } from '../../src/flow/background.js';
import { limit } from '../../src/limits.js';
import { CLOCK, type RowOf, statement } from '../../src/postgres/statement.js';
import type { Recorded } from './projection.js';

/** Two clocks that are synchronised differ by less. */
const TOLERANCE_MS = limit('time of a stored event ahead of the database', 1_000, 'ms', 'event', 'bounded');

export const READ_BOUNDS = statement(
  'bounded-times-read',
  { positions: 'bigint[]' },
  { now: 'bigint', bounded: 'bigint[]', seenAt: 'bigint[]' },
  `
    select ${CLOCK} as now, coalesce(array_agg(position), '{}') as bounded, coalesce(array_agg(seen_at), '{}') as "seenAt"
    from service.bounded_times where position = any(:positions)`,
);

/** The first projector that sees an event decides, so that all read models and all rebuilds have one time. */
export const ADD_BOUNDS = statement(
  'bounded-times-add',
  { positions: 'bigint[]', seenAt: 'bigint' },
  `
    insert into service.bounded_times (position, seen_at) select position, :seenAt from unnest(:positions) position
    on conflict do nothing`,
);

/** Returns when an event was stored, in ms: as the log says, but not after a projector first saw it. */
export type TimeOf = (recorded: Recorded) => number;

export interface BoundedTimes {
  readonly timeOf: TimeOf;
  /** By the database's clock, in ms. */
  readonly now: number;
}

const logger = new Logger('projector');
const WARN_EVERY_MS = 60_000;
const warnAhead = throttle(
  ({ position, recordedAt }: Recorded, count) =>
    logger.warn(
      `The log stored ${count} events with times that are ahead of the database's clock, such as ${formatInstant(recordedAt)} ` +
        `at position ${position}; the events have the time at which they were first read. Synchronise the clocks`,
    ),
  WARN_EVERY_MS,
);

/**
 * Bounds the times of events: none was stored after a projector first saw it, by the database's clock. A log whose clock
 * is ahead stores times in the future. With such a time, the read models would seem to have everything up to that time
 * already, and what is stored until then would be missing from answers about the past for ever. The bounds are remembered
 * by position.
 * @param events a batch in the log's order
 */
export const boundTimes = async (pool: Pool, events: readonly RecordedEvent[]): Promise<BoundedTimes> => {
  const originals: readonly Recorded[] = events.map((event) => event.copyOf ?? event);
  const positions = originals.map(({ position }) => position);
  const read = async (): Promise<{ now: number; times: Map<bigint, number> }> => {
    const [{ now, bounded, seenAt }] = (await READ_BOUNDS.run(pool, { positions })) as [RowOf<typeof READ_BOUNDS>];
    return { now, times: new Map(bounded.map((position, n) => [BigInt(position), seenAt[n]!])) };
  };
  let { now, times } = await read();
  const ahead = originals.filter(({ position, recordedAt }) => recordedAt > now + TOLERANCE_MS && !times.has(position));
  if (ahead.length > 0) {
    warnAhead(ahead.at(-1)!, ahead.length);
    await ADD_BOUNDS.run(pool, { positions: ahead.map(({ position }) => position), seenAt: now });
    ({ times } = await read());
  }
  return { now, timeOf: ({ position, recordedAt }) => Math.min(recordedAt, times.get(position) ?? Infinity) };
};
