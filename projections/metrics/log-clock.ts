import type { PoolClient } from 'pg';
import { type RowOf, statement } from '../../src/postgres/statement.js';
import type { Recorded } from '../engine/projection.js';

export const READ_LOG_CLOCK = statement(
  'metrics-read-clock',
  {},
  { position: 'bigint', recordedAt: 'bigint' },
  'select position, recorded_at as "recordedAt" from log_clock order by position desc limit 1',
);

export const ADVANCE_LOG_CLOCK = statement(
  'metrics-advance-clock',
  { position: 'bigint[]', recordedAt: 'bigint[]' },
  'insert into log_clock (position, recorded_at) select * from unnest(:position, :recordedAt)',
);

/** Adds those of ascending steps that are later than the step before them, and removes the steps that they pass. */
export const INSERT_LOG_STEPS = statement(
  'metrics-insert-clock-steps',
  { position: 'bigint[]', recordedAt: 'bigint[]' },
  `
    with entered as materialized (
      select i.*, coalesce(c.recorded_at, -1) as known
      from unnest(:position, :recordedAt) i (position, recorded_at)
      left join lateral (
        select recorded_at from log_clock where position <= i.position order by position desc limit 1
      ) c on true
      where c.recorded_at is null or c.recorded_at < i.recorded_at
    ), passed as (
      delete from log_clock c using entered e
      where c.recorded_at > e.known and c.recorded_at <= e.recorded_at and c.position > e.position
    )
    insert into log_clock (position, recorded_at) select position, recorded_at from entered`,
);

export const READ_LOG_INSTANTS = statement(
  'metrics-read-instants',
  { positions: 'bigint[]' },
  { position: 'bigint', recordedAt: 'bigint' },
  `
    select p.position, c.recorded_at as "recordedAt" from unnest(:positions) p (position)
    cross join lateral (
      select recorded_at from log_clock c where c.position <= p.position order by c.position desc limit 1
    ) c`,
);

/** The instant of each position, in ms: the latest time at which the log stored an event up to there. */
export type Instants = ReadonlyMap<number, number>;

/** Returns the instants of positions up to the end of the clock. */
export const instantsAt = async (positions: readonly number[], connection: PoolClient): Promise<Instants> => {
  if (positions.length === 0) return new Map();
  const rows = await READ_LOG_INSTANTS.run(connection, { positions });
  return new Map(rows.map(({ position, recordedAt }) => [position, recordedAt]));
};

type Step = RowOf<typeof READ_LOG_CLOCK>;
const NO_STEP: Step = { position: -1, recordedAt: -1 };

/** Returns the events that are later than `known` and all events before them. */
const stepsOf = (events: readonly Step[], known: Step): Step[] => {
  let last = known;
  return events.filter((event) => {
    const isStep = event.recordedAt > last.recordedAt;
    if (isStep) last = event;
    return isStep;
  });
};

/**
 * Records when the log stored the events of a batch. Each row is the first event of a millisecond that is later than the
 * time of every event before it, so that a clock that was set back changes nothing about what was stored before an
 * instant. Copies and retried events have an earlier position than the events around them.
 * @returns the instants of these events
 */
export const advanceClock = async (recorded: readonly Recorded[], connection: PoolClient): Promise<Instants> => {
  const [end = NO_STEP] = await READ_LOG_CLOCK.run(connection, {});
  const events = recorded
    .map(({ position, recordedAt }) => ({ position: Number(position), recordedAt }))
    .sort((a, b) => a.position - b.position);
  const earlier = events.filter(({ position }) => position <= end.position);
  const later = events.filter(({ position }) => position > end.position);
  const steps = stepsOf(later, end);
  await INSERT_LOG_STEPS.runEach(connection, stepsOf(earlier, NO_STEP));
  await ADVANCE_LOG_CLOCK.runEach(connection, steps);
  const positions = earlier.map(({ position }) => position);
  const instants = new Map(await instantsAt(positions, connection));
  let passed = 0;
  for (const { position } of later) {
    if (steps[passed]?.position === position) passed += 1;
    instants.set(position, (steps[passed - 1] ?? end).recordedAt);
  }
  return instants;
};
