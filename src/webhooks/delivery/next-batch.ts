import type { Pool } from 'pg';
import type { Webhook } from '../../events/types/organizations.js';
import type { StoredProgress } from '../progress-sql.js';
import { MAX_ENDPOINT_AGE_MS } from '../webhook.js';
import { json, nullable, statement } from '../../postgres/statement.js';
import {
  elementJson,
  type ElementRow,
  type PlacedElement,
  placedElements,
  NEXT_ELEMENTS,
  pageOf,
} from '../../records/feed/feed-elements.js';
import type { FeedIds } from '../../records/feed/feed-ids.js';
import { kindOf, type ListedKind, numbersOf } from '../../events/listed-items.js';
import { limit } from '../../limits.js';

/** An endpoint that is not deleted, and the progress of its deliveries. */
export const READ_ENDPOINT = statement(
  'webhooks-read-endpoint',
  { organization: 'text', id: 'text' },
  { endpoint: json<Webhook>(), revision: 'bigint', progress: nullable(json<StoredProgress>()) },
  `
    select e.endpoint::json as endpoint, e.revision, p.progress::json as progress
    from read.webhook_endpoints e left join service.webhook_progress p on p.endpoint = e.id
    where e.organization = :organization and e.id = :id and e.state <> 'DELETED'`,
);

/**
 * Lists all endpoints that are not deleted (at most ten per organization) with their revisions, unless the list has the
 * given fingerprint; otherwise every row has the new fingerprint. An empty list is one row without an endpoint. The list
 * is empty until the projection has reached a position in the log, because later events may delete an endpoint or change
 * its URL.
 */
export const LIST_CHANGED_ENDPOINTS = statement(
  'webhooks-list-changed',
  { upTo: 'bigint', fingerprint: 'text' },
  { fingerprint: 'text', organization: nullable('text'), id: nullable('text'), revision: nullable('bigint') },
  `
    with living as materialized (
      select organization, id, revision from read.webhook_endpoints
      where state <> 'DELETED'
        and exists (select from read.checkpoints where projection = 'webhooks' and position >= :upTo)
    )
    select f.fingerprint, l.organization, l.id, l.revision
    from (
      select coalesce(bit_xor(hashtextextended(organization || ':' || id, revision)), 0)::text as fingerprint from living
    ) f left join living l on true
    where f.fingerprint <> :fingerprint
    order by l.organization, l.id`,
);

/** An endpoint that is not deleted. */
export interface Endpoint extends Webhook {
  /** The revision of the organization's webhook stream that wrote this row. */
  readonly revision: number;
  /** Null if deliveries have not started. */
  readonly progress: StoredProgress | null;
  /** When the read of the row began, as `performance.now()` returned it. */
  readonly readAt: number;
}

/** Whether a request to the endpoint may be signed now. */
export const isFresh = ({ readAt }: Endpoint): boolean => performance.now() - readAt <= MAX_ENDPOINT_AGE_MS;

/** @returns undefined if the endpoint does not exist or is deleted */
export const readEndpoint = async (pool: Pool, organization: string, id: string): Promise<Endpoint | undefined> => {
  const readAt = performance.now();
  const [row] = await READ_ENDPOINT.run(pool, { organization, id });
  return row && { ...row.endpoint, revision: row.revision, progress: row.progress, readAt };
};

const NO_FAILURES = {
  failingSince: null,
  tries: 0,
  nextAttemptAt: null,
  refused: 0,
} as const;

/**
 * The position after which the deliveries to an endpoint start. If the endpoint was created with another log, positions
 * are not comparable, and everything is sent again.
 * @param logId the id of the current log
 */
const startPositionOf = ({ startAfter, startLog }: Endpoint, logId: string): number =>
  startLog === logId ? startAfter : -1;

/**
 * Version 2.2 applied a retried event at its own position, and kept the first parked event that it had passed. If that
 * version has retried the event since, it has to be delivered, so the progress moves back once.
 */
const withoutParked = ({ parkedFrom, ...progress }: StoredProgress): StoredProgress =>
  parkedFrom == null || parkedFrom > progress.position
    ? progress
    : { ...progress, position: parkedFrom - 1, event: null };

/**
 * The progress of the deliveries to an endpoint. If the progress is from another log, positions are not comparable, and
 * everything is sent again.
 * @param stored null if deliveries have not started
 * @param logId the id of the current log
 */
export const progressOf = (endpoint: Endpoint, stored: StoredProgress | null, logId: string): StoredProgress => {
  const { replay } = endpoint;
  if (stored?.replay === replay && stored.logId === logId) return withoutParked(stored);
  const position = stored?.replay === replay ? -1 : startPositionOf(endpoint, logId);
  const { lastSuccessAt = null, lastFailure = null } = stored ?? {};
  return { ...NO_FAILURES, replay, logId, position, event: null, lastSuccessAt, lastFailure };
};

/** Resets the failures, because an endpoint that is enabled again starts without failures. */
export const withoutFailures = (progress: StoredProgress): StoredProgress => ({ ...progress, ...NO_FAILURES });

/** The body of a delivery. */
export interface Content {
  readonly contentType: string;
  readonly body: Buffer;
}

/** Encodes feed elements: as a batch if the endpoint accepts batches, otherwise as a single event. */
export const contentOf = ({ batch }: Endpoint, elements: readonly string[]): Content =>
  batch > 1
    ? { contentType: 'application/cloudevents-batch+json', body: Buffer.from(`[${elements.join(',')}]`) }
    : { contentType: 'application/cloudevents+json', body: Buffer.from(elements[0]!) };

/** Number of rows per read if the filter of the endpoint may skip most of the rows. */
const ROWS_PER_READ = 100;
/** The maximum size of a batch. A single record may be larger. */
const MAX_BODY_BYTES = limit('delivery of more than one record', 1024 * 1024, 'bytes', 'request', 'has fewer records');

/** A position in the feed. */
type Cursor = Pick<StoredProgress, 'position' | 'event'>;

export interface Batch extends Content {
  readonly records: readonly { readonly type: ListedKind; readonly id: string }[];
  /** The cursor of the endpoint after this batch. */
  readonly end: Cursor;
}

/** The result of reading the feed after a cursor. */
type Next =
  | { readonly batch: Batch }
  /** The new cursor, if no record passes the filter. */
  | { readonly cursor: Cursor }
  /** Returned if no records follow: the position in the log that the read models have reached. */
  | { readonly upTo: number };

/**
 * The limits of the next batch. After the endpoint has rejected a batch, a smaller batch is sent. After any other
 * failure, the same records are sent again.
 */
export interface BatchLimits {
  readonly size: number;
  /** The position of the last record of the batch that is retried. */
  readonly upTo?: number | undefined;
}

/** The numbers of the record kinds that are delivered to an endpoint (`events/listed-items.ts`), ascending. */
export const kindsOf = ({ types }: Endpoint): number[] => numbersOf(types);

/**
 * A deletion always passes: it has no type or status, and the receiver needs the deletion to keep a copy up to date.
 */
const passesFilter = ({ assetTypes, statuses }: Endpoint, { item }: ElementRow): boolean => {
  if (item === '' || (assetTypes === undefined && statuses === undefined)) return true;
  const { asset, status } = JSON.parse(item) as { asset?: { type: string }; status?: string };
  return (
    (assetTypes === undefined || (asset !== undefined && assetTypes.includes(asset.type))) &&
    (statuses === undefined || (status !== undefined && statuses.includes(status)))
  );
};

const cursorAt = ({ position, event }: PlacedElement): Cursor => ({ position, event });

const batchOf = (endpoint: Endpoint, ids: FeedIds, chosen: readonly PlacedElement[]): Batch => {
  const texts: string[] = [];
  let bytes = 2;
  for (const [index, id] of ids.write(chosen).entries()) {
    const text = elementJson(id, chosen[index]!.row);
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > MAX_BODY_BYTES && texts.length > 0) break;
    texts.push(text);
  }
  const sent = chosen.slice(0, texts.length);
  return {
    records: sent.map(({ row: { kind, id } }) => ({ type: kindOf(kind), id })),
    ...contentOf(endpoint, texts),
    end: cursorAt(sent.at(-1)!),
  };
};

/**
 * Reads the records to deliver next.
 * @throws the error of the database
 */
export const readNext = async (
  pool: Pool,
  ids: FeedIds,
  endpoint: Endpoint,
  from: Cursor,
  { size, upTo = Number.POSITIVE_INFINITY }: BatchLimits,
): Promise<Next> => {
  const limit = endpoint.assetTypes === undefined && endpoint.statuses === undefined ? size : ROWS_PER_READ;
  const { organization } = endpoint;
  const values = { organization, after: from.position, limit, kinds: kindsOf(endpoint) };
  const page = pageOf(await NEXT_ELEMENTS.run(pool, values));
  const reached = page.upTo ?? -1;
  const elements = placedElements(page);
  // A read model that has not reached the cursor is being filled, so its rows are incomplete.
  if (reached < from.position || elements.length === 0) return { upTo: reached };
  const matching = elements.filter(({ row }) => passesFilter(endpoint, row));
  const retried = matching.filter(({ position }) => position <= upTo);
  const chosen = (retried.length > 0 ? retried : matching).slice(0, size);
  return chosen.length === 0 ? { cursor: cursorAt(elements.at(-1)!) } : { batch: batchOf(endpoint, ids, chosen) };
};
