import { CLOCK } from '../postgres/statements.js';
import { statement } from '../postgres/statement.js';
import { expiringRows } from '../read-models/expiry/expiring-rows-sql.js';

/**
 * Adds amounts to the totals of organizations on a day (days since 1970), and returns the new totals over all instances.
 * Adding zero leaves a total as it is. The totals are stored, because the log does not contain the number of bytes of a
 * request.
 */
export const ADD_INGEST_USAGE = statement(
  'ingest-usage-add',
  { day: 'integer', organization: 'text[]', events: 'bigint[]', bytes: 'bigint[]' },
  { organization: 'text', events: 'bigint', bytes: 'bigint' },
  `
    insert into service.ingest_usage as u (day, organization, events, bytes)
    select $1, * from unnest($2::text[], $3::bigint[], $4::bigint[]) i (organization, events, bytes) order by organization
    on conflict (day, organization) do update
      set events = greatest(u.events + excluded.events, 0), bytes = greatest(u.bytes + excluded.bytes, 0)
    returning organization, events, bytes`,
);

/** The usage of all days before yesterday, by the clock of the database. */
export const OLD_INGEST_USAGE = expiringRows({
  name: 'daily quotas',
  table: 'service.ingest_usage',
  where: `t.day < (select ${CLOCK}) / 86400000 - 1`,
});
