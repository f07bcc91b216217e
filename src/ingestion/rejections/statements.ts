import { json, statement, textOf } from '../../postgres/statement.js';
import type { RejectedSample } from '../../read-models/rejected-events.js';
import type { RejectReason } from './rejection-groups.js';

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
  {
    day: 'integer',
    keyId: 'text',
    reason: textOf<RejectReason>(),
    type: 'text',
    count: 'bigint',
    lastAt: 'bigint',
    sample: json<RejectedSample>(),
  },
  `
    select day, key_id as "keyId", reason, type, count, last_at as "lastAt", sample from service.rejections
    where owner = $1 and day >= $2 and (day, key_id, reason, type) < ($3, $4, $5, $6)
      and ($7 = '' or reason = $7) and ($8 = '' or type = $8)
    order by day desc, key_id desc, reason desc, type desc limit $9`,
);
