import { json, statement } from '../../postgres/statement.js';
import { CLOCK } from '../../postgres/statements.js';
import { ALL_PROJECTIONS } from '../../read-models/checkpoints/checkpoints.js';
import { expiringRows } from '../../read-models/expiry/expiring-rows-sql.js';
import { rowsAtPosition } from '../../read-models/checkpoints/position-sql.js';

export const OUTCOMES = ['accepted', 'duplicate', 'rejected'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * How many events of one owner, UTC day, type and outcome were received. The log does not contain rejected events and
 * duplicates.
 */
export interface EventUsage {
  /** An organization, or the id of a key that belongs to no organization. */
  readonly owner: string;
  /** Days since 1970. */
  readonly day: number;
  /** An upstream type, or `other`. */
  readonly type: string;
  readonly outcome: Outcome;
  readonly events: number;
}

/** Number of days that are kept, including today. */
export const KEPT_DAYS = 90;

/**
 * Reads how many events of an owner were received from day `from` to day `to`, by day, type and outcome, ordered by
 * day.
 */
export const READ_EVENT_USAGE = statement(
  'event-usage-of',
  { owner: 'text', from: 'integer', to: 'integer' },
  { position: 'bigint', rows: json<readonly Omit<EventUsage, 'owner'>[]>() },
  rowsAtPosition(
    `
    select day, type, outcome, events from service.event_usage
    where owner = $1 and day between $2 and $3 order by day, type, outcome`,
    ...ALL_PROJECTIONS,
  ),
);

export const ADD_EVENT_USAGE = statement(
  'event-usage-add',
  { owner: 'text[]', day: 'integer[]', type: 'text[]', outcome: 'text[]', events: 'bigint[]' },
  {},
  `
    insert into service.event_usage as u (owner, day, type, outcome, events)
    select * from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::bigint[])
      as i (owner, day, type, outcome, events) order by owner, day, type, outcome
    on conflict (owner, day, type, outcome) do update set events = u.events + excluded.events`,
);

/** All days before the last `KEPT_DAYS` days, the last of which is today by the clock of the database. */
export const OLD_EVENT_USAGE = expiringRows({
  name: 'event usage',
  table: 'service.event_usage',
  where: `t.day <= (select ${CLOCK}) / 86400000 - ${KEPT_DAYS}`,
});
