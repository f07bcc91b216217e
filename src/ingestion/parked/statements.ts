import { json, statement } from '../../postgres/statement.js';
import { ALL_PROJECTIONS } from '../../read-models/checkpoints/checkpoints.js';
import { rowsAtPosition } from '../../read-models/checkpoints/position-sql.js';

export interface ParkedRow {
  readonly position: number;
  readonly projection: string;
  readonly type: string;
  readonly metadata: unknown;
  readonly reason: string | null;
  /** ms */
  readonly parkedAt: number;
  /** ms */
  readonly recordedAt: number | null;
  readonly attempts: number;
}

/** A page of the parked events whose `column` has a value, newest in the log first. Metadata above 16 KiB is omitted. */
const listParkedBy = <const Name extends string>(name: Name, column: string) =>
  statement(
    `parked-of-${name}`,
    { owner: 'text', position: 'bigint', projection: 'text', limit: 'bigint' },
    { position: 'bigint', rows: json<readonly ParkedRow[]>() },
    rowsAtPosition(
      `
      select position, projection, type,
        case when octet_length(metadata::text) <= 16384 then metadata end as metadata,
        case when unreadable then left(reason, 2000) end as reason,
        parked_at as "parkedAt", recorded_at as "recordedAt", attempts
      from read.parked_events where ${column} = $1 and (position, projection) < ($2, $3)
      order by position desc, projection desc limit $4`,
      ...ALL_PROJECTIONS,
    ),
  );

export const LIST_PARKED = {
  ofOrganization: listParkedBy('organization', 'organization'),
  ofKey: listParkedBy('key', 'key_id'),
};
