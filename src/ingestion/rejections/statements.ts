import { json, statement } from '../../postgres/statement.js';
import { ALL_PROJECTIONS } from '../../read-models/checkpoints/checkpoints.js';
import { rowsAtPosition } from '../../read-models/checkpoints/position-sql.js';
import type { RejectedSample } from '../../read-models/rejected-events.js';
import type { RejectReason } from './rejection-groups.js';

interface RejectionRow {
  /** Days since 1970. */
  readonly day: number;
  readonly keyId: string;
  readonly reason: RejectReason;
  readonly type: string;
  readonly count: number;
  /** ms */
  readonly lastAt: number;
  readonly sample: RejectedSample;
}

/** A page of an owner's rejections after a cursor, newest day first; '' matches every reason or type. */
export const LIST_REJECTIONS = statement(
  'rejections-list',
  {
    owner: 'text',
    from: 'integer',
    day: 'integer',
    keyId: 'text',
    reason: 'text',
    type: 'text',
    ofReason: 'text',
    ofType: 'text',
    limit: 'bigint',
  },
  { position: 'bigint', rows: json<readonly RejectionRow[]>() },
  rowsAtPosition(
    `
    select day, key_id as "keyId", reason, type, count, last_at as "lastAt", sample from service.rejections
    where owner = $1 and day >= $2 and (day, key_id, reason, type) < ($3, $4, $5, $6)
      and ($7 = '' or reason = $7) and ($8 = '' or type = $8)
    order by day desc, key_id desc, reason desc, type desc limit $9`,
    ...ALL_PROJECTIONS,
  ),
);
