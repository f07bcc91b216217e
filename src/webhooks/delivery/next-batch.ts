import type { Pool } from 'pg';
import { elementJson, type ElementRow } from '../../records/feed/element.js';
import type { FeedIds } from '../../records/feed/feed-id.js';
import { type Placed, placed } from '../../records/feed/placed.js';
import { type FeedPage, NEXT_ELEMENTS } from '../../records/feed/statements.js';
import { kindOf, type ListedKind, numbersOf } from '../../events/kinds.js';
import type { StoredProgress } from '../../read-models/webhooks/statements.js';
import { beginningOf, type Content, contentOf, type Endpoint } from './endpoint.js';

/** Rows read at a time for an endpoint whose filter may leave few of them. */
const LOOKED_AT = 100;
/** Of a batch of several records; one alone may be larger. */
const MAX_BODY_BYTES = 1024 * 1024;

/** A place in the feed, as `StoredProgress` has it. */
export type Cursor = Pick<StoredProgress, 'position' | 'event' | 'parked' | 'parkedFrom'>;

/** The first of these positions; null: there is none. */
const earliest = (...positions: readonly (number | null | undefined)[]): number | null =>
  positions.reduce<number | null>(
    (first, each) => (each == null || (first !== null && first <= each) ? first : each),
    null,
  );

export interface Batch extends Content {
  readonly records: readonly { readonly type: ListedKind; readonly id: string }[];
  /** Where the endpoint is once it has this. */
  readonly end: Cursor;
}

/** What follows a cursor. */
export type Next =
  | { readonly batch: Batch }
  /** Nothing for this endpoint up to here; or a place before the cursor, from which there is something again. */
  | { readonly cursor: Cursor }
  /** Nothing at all: the position in the log that the read models have reached. */
  | { readonly upTo: number };

/** How much of what follows is sent: after a refusal less of it, and after a failure the same again. */
export interface Portion {
  readonly size: number;
  /** The position of the last record. */
  readonly upTo?: number | undefined;
}

/** The kinds of records that an endpoint is told of, as in `kinds.ts`, ascending. */
export const kindsOf = ({ types }: Endpoint): number[] => numbersOf(types);

/** A deletion has neither type nor status any more, and whoever keeps a copy must know of it. */
const isFor = ({ assetTypes, statuses }: Endpoint, { item }: ElementRow): boolean => {
  if (item === '' || (assetTypes === undefined && statuses === undefined)) return true;
  const { asset, status } = JSON.parse(item) as { asset?: { type: string }; status?: string };
  return (
    (assetTypes === undefined || (asset !== undefined && assetTypes.includes(asset.type))) &&
    (statuses === undefined || (status !== undefined && statuses.includes(status)))
  );
};

const batchOf = (
  endpoint: Endpoint,
  ids: FeedIds,
  chosen: readonly Placed[],
  endOf: (last: Placed) => Cursor,
): Batch => {
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
    end: endOf(sent.at(-1)!),
  };
};

/**
 * Reads what an endpoint is to be sent next.
 * @throws the database's error
 */
export const readNext = async (
  pool: Pool,
  ids: FeedIds,
  endpoint: Endpoint,
  from: Cursor & Pick<StoredProgress, 'logId'>,
  { size, upTo = Number.POSITIVE_INFINITY }: Portion,
): Promise<Next> => {
  const limit = endpoint.assetTypes === undefined && endpoint.statuses === undefined ? size : LOOKED_AT;
  const { organization } = endpoint;
  const values = { organization, after: from.position, limit };
  const [page] = (await NEXT_ELEMENTS[kindsOf(endpoint).join('-')]!.run(pool, values)) as [FeedPage];
  // The read model is being rebuilt, and has yet to reach the cursor: neither its rows nor its parked events are complete.
  const reached = page.upTo ?? -1;
  if (reached < from.position) return { upTo: from.position };
  const beginning = beginningOf(endpoint, from.logId);
  const passed = page.parkedFirst !== null && page.parkedFirst > beginning ? page.parkedFirst : null;
  // An event that had been passed while it was parked is applied after all: what it made stands where the event is.
  if (from.parked !== null && page.parkedBefore !== from.parked) {
    const position = from.parkedFrom === null ? from.position : Math.min(from.position, from.parkedFrom - 1);
    if (position < from.position) return { cursor: { position, event: null, parked: null, parkedFrom: null } };
    // A parked event about a verdict concerns the organization only since a later event has given it that verdict.
    return {
      cursor: { position, event: from.event, parked: page.parkedBefore, parkedFrom: earliest(from.parkedFrom, passed) },
    };
  }
  const elements = placed(page);
  if (elements.length === 0) return { upTo: reached };
  const endOf = ({ position, event, parked }: Placed): Cursor => {
    const [next] = page.parked?.[0] ?? [];
    const parkedFrom = earliest(from.parkedFrom, passed, next !== undefined && next <= position ? next : null);
    return { position, event, parked, parkedFrom: parked === 0 ? null : parkedFrom };
  };
  const fitting = elements.filter(({ row }) => isFor(endpoint, row));
  const known = fitting.filter(({ position }) => position <= upTo);
  const chosen = (known.length > 0 ? known : fitting).slice(0, size);
  return chosen.length === 0 ? { cursor: endOf(elements.at(-1)!) } : { batch: batchOf(endpoint, ids, chosen, endOf) };
};
