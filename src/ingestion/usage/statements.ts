import { statement, textOf } from '../../postgres/statement.js';
import type { Outcome } from '../../read-models/event-usage.js';

/**
 * Reads how many events of an owner were received from day `from` to day `to`, by day, type and outcome, ordered by
 * day.
 */
export const READ_EVENT_USAGE = statement(
  'event-usage-of',
  { owner: 'text', from: 'integer', to: 'integer' },
  { day: 'integer', type: 'text', outcome: textOf<Outcome>(), events: 'bigint' },
  `
    select day, type, outcome, events from service.event_usage
    where owner = $1 and day between $2 and $3 order by day, type, outcome`,
);
