import type { Pool } from 'pg';
import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import type { CloudEvent } from '../receive/cloud-event.js';
import { json, statement } from '../../postgres/statement.js';
import { ALL_PROJECTIONS, rowsAtPosition } from '../../read-models/checkpoints.js';
import { truncate } from '../../runtime/terminal.js';
import { createReadModels } from '../../read-models/tables.js';
import { dayOf } from '../../events/instant.js';
import { reportFailures, throttle } from '../../flow/background.js';
import { UpsertBuffer } from '../../read-models/upsert-buffer.js';
import { DatabaseClock } from '../../postgres/clock.js';
import { WatchPool } from '../../read-models/pools.js';

/** The reasons for which events are rejected and counted. The response has detailed messages for the sender. */
export const REJECT_REASONS = [
  /** A CloudEvents attribute is missing or invalid, or the event is unreadable. */
  'attributes',
  'unknown-type',
  /** A type reserved for the service itself. */
  'own-type',
  'data',
  /** Not allowed for an organization's own key. */
  'not-permitted',
  /** The organization of the event was erased. */
  'erased',
] as const;
export type RejectReason = (typeof REJECT_REASONS)[number];

/** The events of a request that were rejected with the same reason and type. */
export interface RejectionGroup {
  readonly reason: RejectReason;
  /** An upstream type, or `other`. */
  readonly type: string;
  count: number;
  /** The first of these events, and its problems. */
  readonly event: CloudEvent;
  readonly issues: readonly string[];
}

/** Groups the rejected events of a request by reason and type. */
export class RejectionGroups {
  private readonly found = new Map<string, RejectionGroup>();

  add(reason: RejectReason, type: string, event: CloudEvent, issues: readonly string[]): void {
    const key = `${reason} ${type}`;
    const known = this.found.get(key);
    if (known === undefined) this.found.set(key, { reason, type, count: 1, event, issues });
    else known.count += 1;
  }

  all(): readonly RejectionGroup[] {
    return [...this.found.values()];
  }
}

/** An example of the rejected events. */
interface RejectedSample {
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
    where owner = :owner and day >= :from and (day, key_id, reason, type) < (:day, :keyId, :reason, :type)
      and (:ofReason = '' or reason = :ofReason) and (:ofType = '' or type = :ofType)
    order by day desc, key_id desc, reason desc, type desc limit :limit`,
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
  `
    insert into service.rejections as r (owner, day, key_id, reason, type, count, last_at, sample)
    select * from unnest(:owner, :day, :keyId, :reason, :type, :count, :lastAt, :sample)
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
  `
    delete from service.rejections where ctid = any(array(
      select id from (
        select ctid as id, day, last_at, row_number() over (partition by owner order by day desc, last_at desc) as place
        from service.rejections where (select count(*) from service.rejections) > :keptRows
      ) r order by place, day desc, last_at desc offset :keptRows
    ))`,
);

/**
 * Reads what senders wrote in samples, as JSON, from a block of the table on: the id, the source, and then the data, which
 * may be cut off. A block has fewer than 300 rows.
 */
export const READ_SAMPLES = statement(
  'rejections-read-samples',
  { block: 'bigint', limit: 'bigint' },
  { key: 'text', sent: 'text' },
  `
    select ctid::text as key,
      concat(json_build_array(sample ->> 'id', sample ->> 'source'), sample ->> 'data') as sent
    from service.rejections
    where ctid > ('(' || :block || ',0)')::tid order by ctid limit :limit`,
);

export const EMPTY_SAMPLES = statement(
  'rejections-empty-samples',
  { keys: 'text[]' },
  `
    update service.rejections set sample = json_build_object(
      'id', null, 'source', '', 'type', sample -> 'type', 'issues', '[]'::json, 'data', null)
    where ctid = any(:keys::tid[])`,
);

/** The maximum length of the data in a sample, in UTF-16 units. */
const MAX_DATA = 2_048;
const MAX_ATTRIBUTE = 256;
const MAX_ISSUES = 10;
const MAX_ITEMS = 20;
export const MAX_STRING = 512;

/** Serialises data of any size as truncated JSON, at a bounded cost. */
const truncatedJson = (data: unknown): string | null => {
  let left = MAX_DATA;
  const json = JSON.stringify(data, (_name, value: unknown) => {
    if (left <= 0) return undefined;
    left -= typeof value === 'string' ? Math.min(value.length, MAX_STRING) + 2 : 4;
    if (Array.isArray(value)) return value.slice(0, MAX_ITEMS) as unknown[];
    return typeof value === 'string' ? value.slice(0, MAX_STRING) : value;
  }) as string | undefined;
  return json === undefined ? null : Buffer.from(json.slice(0, MAX_DATA)).subarray(0, MAX_DATA).toString();
};

/** The stored sample of a rejected event. */
export const sampleOf = ({ event, issues }: Pick<RejectionGroup, 'event' | 'issues'>): RejectedSample => ({
  id: event.id === undefined ? null : truncate(event.id, MAX_ATTRIBUTE),
  source: truncate(event.source, MAX_ATTRIBUTE),
  type: truncate(event.type, MAX_ATTRIBUTE),
  issues: issues.slice(0, MAX_ISSUES).map((issue) => truncate(issue, MAX_STRING)),
  data: truncatedJson(event.data),
});

/** If there are more rows, the owners with the most rows lose their oldest rows. */
export const MAX_ROWS = 10_000;

/**
 * Adds the rejections since the last call, and deletes the oldest if there are too many.
 * @param onUndeleted called if the deletion failed, by default throws the error. The rejections are stored already, and the
 *   next call deletes what is too many
 */
export const addRejectedEvents = async (
  pool: Pool,
  rejected: readonly RejectedEvents[],
  onUndeleted = (error: unknown): void => {
    throw error;
  },
): Promise<void> => {
  await ADD_REJECTIONS.runEach(pool, rejected);
  await DELETE_EXCESS_REJECTIONS.run(pool, { keptRows: MAX_ROWS }).catch(onUndeleted);
};

/** Lists rejections, newest first. */
export const listRejectedEvents = (pool: Pool): Promise<RejectedEvents[]> =>
  createReadModels(pool)
    .selectFrom('service.rejections')
    .select(['owner', 'day', 'key_id as keyId', 'reason', 'type', 'count', 'last_at as lastAt', 'sample'])
    .$narrowType<Pick<RejectedEvents, 'reason' | 'sample'>>()
    .orderBy('day', 'desc')
    .orderBy('last_at', 'desc')
    .orderBy('key_id')
    .orderBy('reason')
    .orderBy('type')
    .limit(MAX_ROWS)
    .execute();

/** Deletes all rejections. @returns the number of deleted rows */
export const clearRejectedEvents = async (pool: Pool): Promise<number> =>
  Number((await createReadModels(pool).deleteFrom('service.rejections').executeTakeFirstOrThrow()).numDeletedRows);

/**
 * Stores rejected events for the operator and the senders: a count and one sample per day, key, reason and type. The table
 * is up to a second behind.
 */
@Injectable()
export class RejectionLog implements BeforeApplicationShutdown {
  private readonly logger = new Logger('ingestion');
  private readonly rows: UpsertBuffer<RejectedEvents>;
  private readonly logRejections = throttle((latest: string, count) =>
    this.logger.warn(`${count} events rejected, most recently from ${latest}; "rejected list" shows them`),
  );

  constructor(
    private readonly pool: WatchPool,
    registry: Registry = new Registry(),
    private readonly clock: DatabaseClock = new DatabaseClock(),
  ) {
    const deletions = reportFailures('delete old rejected events', registry);
    this.rows = new UpsertBuffer<RejectedEvents>({
      keyOf: ({ day, keyId, reason, type }) => `${day} ${keyId} ${reason} ${type}`,
      merge: (known, { count, lastAt }) => ({
        ...known,
        count: known.count + count,
        lastAt: Math.max(known.lastAt, lastAt),
      }),
      // The buffer would add the rows again if the write failed.
      write: (rows) => addRejectedEvents(this.pool, rows, (error) => deletions.failed(error)),
      // Each row has at most about 6 KiB.
      maxRows: 1_000,
      flushIntervalMs: 1_000,
      report: reportFailures('write rejected events', registry),
    });
  }

  /** @param owner the key's organization, or the key itself */
  add(owner: string, keyId: string, groups: readonly RejectionGroup[]): void {
    const now = this.clock.now();
    let sum = 0;
    for (const group of groups) {
      const { reason, type, count } = group;
      sum += count;
      this.rows.add({
        owner,
        day: dayOf(now),
        keyId,
        reason,
        type,
        count,
        lastAt: now,
        // Computed only for a new row.
        get sample() {
          return sampleOf(group);
        },
      });
    }
    const [first] = groups;
    if (first !== undefined) this.logRejections(`${keyId}: ${first.reason} (type ${first.type})`, sum);
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.rows.stop();
  }
}
