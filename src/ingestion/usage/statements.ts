import { json, statement } from '../../postgres/statement.js';
import { ALL_PROJECTIONS } from '../../read-models/checkpoints/checkpoints.js';
import { rowsAtPosition } from '../../read-models/checkpoints/position-sql.js';
import type { Outcome } from '../../read-models/event-usage.js';

interface UsageRow {
  /** Days since 1970. */
  readonly day: number;
  readonly type: string;
  readonly outcome: Outcome;
  readonly events: number;
}

/**
 * Reads how many events of an owner were received from day `from` to day `to`, by day, type and outcome, ordered by
 * day.
 */
export const READ_EVENT_USAGE = statement(
  'event-usage-of',
  { owner: 'text', from: 'integer', to: 'integer' },
  { position: 'bigint', rows: json<readonly UsageRow[]>() },
  rowsAtPosition(
    `
    select day, type, outcome, events from service.event_usage
    where owner = $1 and day between $2 and $3 order by day, type, outcome`,
    ...ALL_PROJECTIONS,
  ),
);
