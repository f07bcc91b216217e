import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Invalid } from '../../errors.js';
import { dayOf, parseInstant } from '../../events/instant.js';
import { json, statement, CLOCK } from '../../postgres/statement.js';
import { ALL_PROJECTIONS, rowsAtPosition } from '../../read-models/checkpoints.js';
import { expiringRows, Expiry } from '../../read-models/expiry.js';
import { DatabaseClock } from '../../postgres/clock.js';
import { reportFailures } from '../../flow/background.js';
import { UpsertBuffer } from '../../read-models/upsert-buffer.js';
import { WatchPool } from '../../read-models/pools.js';
import { limit } from '../../limits.js';

/**
 * Reads a UTC day, `YYYY-MM-DD`, as days since 1970.
 * @throws Invalid
 */
export const readDay = (name: string, text: string): number => {
  const instant = /^\d{4}-\d\d-\d\d$/.test(text) ? parseInstant(`${text}T00:00:00Z`) : undefined;
  if (instant === undefined) throw new Invalid(`${name} must be a UTC day, such as 2026-03-01`);
  return dayOf(instant);
};

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
export const KEPT_DAYS = limit('usage', 90, 'days', 'organization', 'older days are deleted');

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
    where owner = :owner and day between :from and :to order by day, type, outcome`,
    ...ALL_PROJECTIONS,
  ),
);

export const ADD_EVENT_USAGE = statement(
  'event-usage-add',
  { owner: 'text[]', day: 'integer[]', type: 'text[]', outcome: 'text[]', events: 'bigint[]' },
  `
    insert into service.event_usage as u (owner, day, type, outcome, events)
    select * from unnest(:owner, :day, :type, :outcome, :events)
      as i (owner, day, type, outcome, events) order by owner, day, type, outcome
    on conflict (owner, day, type, outcome) do update set events = u.events + excluded.events`,
);

/** All days before the last `KEPT_DAYS` days, the last of which is today by the clock of the database. */
export const OLD_EVENT_USAGE = expiringRows({
  name: 'event usage',
  table: 'service.event_usage',
  where: `t.day <= (select ${CLOCK}) / 86400000 - ${KEPT_DAYS}`,
});

/** Counts the outcomes of events for their senders. The table is up to a second behind. */
@Injectable()
export class UsageLog implements BeforeApplicationShutdown {
  private readonly rows: UpsertBuffer<EventUsage>;

  constructor(
    private readonly pool: WatchPool,
    registry: Registry = new Registry(),
    private readonly clock: DatabaseClock = new DatabaseClock(),
    expiry?: Expiry,
  ) {
    expiry?.register(OLD_EVENT_USAGE);
    this.rows = new UpsertBuffer<EventUsage>({
      keyOf: ({ owner, day, type, outcome }) => `${owner} ${day} ${type} ${outcome}`,
      merge: (known, more) => ({ ...known, events: known.events + more.events }),
      write: (rows) => ADD_EVENT_USAGE.runEach(this.pool, rows),
      maxRows: 20_000,
      flushIntervalMs: 1_000,
      report: reportFailures('write usage', registry),
    });
  }

  /**
   * @param owner the key's organization, or the key itself
   * @param type an upstream type, or `other`
   */
  add(owner: string, outcome: Outcome, type: string, events: number): void {
    this.rows.add({ owner, day: dayOf(this.clock.now()), type, outcome, events });
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.rows.stop();
  }
}
