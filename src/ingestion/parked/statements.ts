import { nullable, type RowOf, statement } from '../../postgres/statement.js';

/** A page of the parked events whose `column` has a value, newest in the log first. Metadata above 16 KiB is omitted. */
const listParkedBy = <const Name extends string>(name: Name, column: string) =>
  statement(
    `parked-of-${name}`,
    { owner: 'text', position: 'bigint', projection: 'text', limit: 'bigint' },
    {
      position: 'bigint',
      projection: 'text',
      type: 'text',
      metadata: nullable('json'),
      reason: nullable('text'),
      parkedAt: 'bigint',
      recordedAt: nullable('bigint'),
      attempts: 'integer',
    },
    `
      select position, projection, type,
        case when octet_length(metadata::text) <= 16384 then metadata end as metadata,
        case when unreadable then left(reason, 2000) end as reason,
        parked_at as "parkedAt", recorded_at as "recordedAt", attempts
      from read.parked_events where ${column} = $1 and (position, projection) < ($2, $3)
      order by position desc, projection desc limit $4`,
  );

export const LIST_PARKED = {
  ofOrganization: listParkedBy('organization', 'organization'),
  ofKey: listParkedBy('key', 'key_id'),
};
export type ParkedRow = RowOf<(typeof LIST_PARKED)['ofKey']>;
