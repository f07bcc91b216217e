import { json, statement } from '../../postgres/statement.js';
import { ALL_PROJECTIONS } from '../../read-models/checkpoints/checkpoints.js';
import { rowsAtPosition } from '../../read-models/checkpoints/position-sql.js';
import type { RejectReason } from './rejection-groups.js';

/** An example of the rejected events. */
export interface RejectedSample {
  /** The attributes as they were sent, truncated. */
  readonly id: string | null;
  readonly source: string;
  readonly type: string;
  readonly issues: readonly string[];
  /** The data as JSON, truncated. Truncated data is not valid JSON. */
  readonly data: string | null;
}

/**
 * How many events of one owner, UTC day, key, reason and type were rejected. The log does not contain rejected events.
 */
export interface RejectedEvents {
  /** An organization, or the id of a key that belongs to no organization. */
  readonly owner: string;
  /** Days since 1970. */
  readonly day: number;
  readonly keyId: string;
  readonly reason: RejectReason;
  /** An upstream type, or `other`. */
  readonly type: string;
  readonly count: number;
  /** ms */
  readonly lastAt: number;
  /** The first rejected event. */
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
  { position: 'bigint', rows: json<readonly Omit<RejectedEvents, 'owner'>[]>() },
  rowsAtPosition(
    `
    select day, key_id as "keyId", reason, type, count, last_at as "lastAt", sample from service.rejections
    where owner = $1 and day >= $2 and (day, key_id, reason, type) < ($3, $4, $5, $6)
      and ($7 = '' or reason = $7) and ($8 = '' or type = $8)
    order by day desc, key_id desc, reason desc, type desc limit $9`,
    ...ALL_PROJECTIONS,
  ),
);

export const ADD_REJECTIONS = statement(
  'rejections-add',
  {
    owner: 'text[]',
    day: 'integer[]',
    keyId: 'text[]',
    reason: 'text[]',
    type: 'text[]',
    count: 'bigint[]',
    lastAt: 'bigint[]',
    sample: 'json[]',
  },
  {},
  `
    insert into service.rejections as r (owner, day, key_id, reason, type, count, last_at, sample)
    select * from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::json[])
      as i (owner, day, key_id, reason, type, count, last_at, sample) order by owner, day, key_id, reason, type
    on conflict (owner, day, key_id, reason, type) do update
      set count = r.count + excluded.count, last_at = greatest(r.last_at, excluded.last_at)`,
);

/**
 * Keeps `keptRows` rows. Every owner keeps the same number of newest rows, or all of its rows if it has fewer, so that
 * the rejections of one owner cannot displace those of another.
 */
export const DELETE_EXCESS_REJECTIONS = statement(
  'rejections-forget',
  { keptRows: 'integer' },
  {},
  `
    delete from service.rejections where ctid = any(array(
      select id from (
        select ctid as id, day, last_at, row_number() over (partition by owner order by day desc, last_at desc) as place
        from service.rejections where (select count(*) from service.rejections) > $1::integer
      ) r order by place, day desc, last_at desc offset $1::integer
    ))`,
);

/** Reads samples from a block of the table on. A block has fewer than 300 rows. */
export const READ_SAMPLES = statement(
  'rejections-read-samples',
  { block: 'bigint', limit: 'bigint' },
  { key: 'text', data: 'text' },
  `
    select ctid::text as key, sample ->> 'data' as data from service.rejections
    where ctid > ('(' || $1::bigint || ',0)')::tid and sample ->> 'data' is not null order by ctid limit $2`,
);

export const EMPTY_SAMPLES = statement(
  'rejections-empty-samples',
  { keys: 'text[]' },
  {},
  `
    update service.rejections set sample = json_build_object(
      'id', null, 'source', '', 'type', sample -> 'type', 'issues', '[]'::json, 'data', null)
    where ctid = any($1::text[]::tid[])`,
);
