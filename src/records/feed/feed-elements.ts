import { FEED_SOURCE, FEED_TYPE_PREFIX } from '../../events/feed-schema.js';
import { formatInstant } from '../../events/instant.js';
import { kindOf, numbersOf } from '../../events/listed-items.js';
import { json, nullable, type RowOf, statement } from '../../postgres/statement.js';
import { limit } from '../../limits.js';
import { ITEM_PARTS, itemBytes, itemOf } from '../item.js';
import { eventMark, type FeedPosition } from './feed-ids.js';

export interface ElementRow {
  readonly position: number;
  /** As in `listed-items.ts`. */
  readonly kind: number;
  readonly id: string;
  readonly eventId: string;
  /** ms since 1970 */
  readonly storedAt: number;
  /** The record as JSON; empty if the record was deleted. */
  readonly item: string;
}

/** Maximum size in bytes of an element without its `subject` and `data`. */
export const MAX_ATTRIBUTE_BYTES = 320;

/**
 * Writes an element of the feed as JSON. The text is concatenated without `JSON.stringify` for speed, because a
 * response has up to 1,000 elements.
 */
export const elementJson = (elementId: string, { kind, id, storedAt, item }: ElementRow): string => {
  const attributes =
    `"specversion":"1.0","id":"${elementId}","source":"${FEED_SOURCE}","type":"${FEED_TYPE_PREFIX}${kindOf(kind)}",` +
    `"subject":${JSON.stringify(id)},"time":"${formatInstant(storedAt)}"`;
  if (item === '') return `{${attributes},"method":"DELETE"}`;
  return `{${attributes},"datacontenttype":"application/json","data":${item}}`;
};

/** Maximum size of a response, as JSON. The first element is included even if it exceeds this size. */
const MAX_RESPONSE_BYTES = limit('feed page as JSON', 4 * 1024 * 1024, 'bytes', 'request', 'the page is shorter');
/** The maximum size of an element in bytes: its item, its attributes and, with escaped characters, the id of the record. */
const ELEMENT_BYTES = `(coalesce(${itemBytes('parts')}, 0) + 2 * octet_length(id) + ${MAX_ATTRIBUTE_BYTES})`;
/** The event at the position of a record. */
export const EVENT_AT_POSITION = 'coalesce(moved_by, event_id)';

/** The state of the read models at the moment of a page. */
export interface PageMoment {
  /** Null: nothing has been projected yet. */
  readonly asOf: number | null;
  readonly upTo: number | null;
}

/** The next elements in order, and the state of the read models from which they were read. */
export interface FeedPage extends PageMoment {
  readonly elements: readonly ElementRow[];
  /** Whether elements are missing, because the page reached its maximum size in bytes. */
  readonly isCut: boolean;
}

/** Parses the line of an element; only the parts of the item, at the end, contain further spaces. */
const parseElement = (text: string): ElementRow => {
  const [position, kind, storedAt, eventId, id] = text.split(' ', 5) as [string, string, string, string, string];
  const parts = text.slice(position.length + kind.length + storedAt.length + eventId.length + id.length + 5);
  const item = parts === '' ? '' : itemOf(+kind, id, parts);
  return { position: +position, kind: +kind, storedAt: +storedAt, eventId, id, item };
};

/** SQL for the elements of one index range for each kind. Ranges of kinds that are not requested are not scanned. */
const RANGES = numbersOf()
  .map(
    (kind) =>
      `(select position, kind, id, ${EVENT_AT_POSITION} as event_id, stored_at, ${ITEM_PARTS} as parts from read.register
          where organization = :organization and kind = ${kind} and ${kind} = any(:kinds) and position > :after
          order by position)`,
  )
  .join(' union all ');

/** Reads the next elements of an organization's feed, merged from the ranges of the kinds, in one snapshot. */
export const NEXT_ELEMENTS = statement(
  'feed-next',
  { organization: 'text', after: 'bigint', limit: 'integer', kinds: 'smallint[]' },
  {
    moment: json<PageMoment>(),
    /** The elements in order, one per line, because JSON escapes line breaks; null if there are none. */
    elements: nullable('text'),
    isCut: 'boolean',
  },
  `
    select json_build_object(
      'asOf', (select as_of from read.checkpoints where projection = 'register'),
      'upTo', (select position from read.checkpoints where projection = 'register')
    ) as moment, elements, is_cut as "isCut"
    from (
      select string_agg(concat_ws(' ', position, kind, stored_at, event_id, id, coalesce(parts, '')), E'\\n' order by position)
          filter (where fits) as elements,
        coalesce(not bool_and(fits), false) as is_cut
      from (
        select *, row_number() over in_order = 1 or sum(${ELEMENT_BYTES}) over in_order < ${MAX_RESPONSE_BYTES} as fits
        from (select * from (${RANGES}) merged order by position limit :limit) next
        window in_order as (order by position rows unbounded preceding)
      ) sized
    ) page`,
);

export type PageRow = RowOf<typeof NEXT_ELEMENTS>;

/** @param rows the only row of `NEXT_ELEMENTS` */
export const pageOf = ([row]: readonly PageRow[]): FeedPage => {
  const { moment, elements, isCut } = row!;
  return { ...moment, elements: elements?.split('\n').map(parseElement) ?? [], isCut };
};

/** Finds the waiting requests with new elements to read. Requests are numbered from 1. */
export const READY_REQUESTS = statement(
  'feed-ready-requests',
  {
    organizations: 'text[]',
    /** The kinds of each request, joined by commas. */
    kinds: 'text[]',
    /** The position after which each request waits for elements. */
    after: 'bigint[]',
  },
  { asOf: 'bigint', upTo: 'bigint', news: 'integer[]' },
  `
    select c.as_of as "asOf", c.position as "upTo",
      array(
        select w.ordinal::int from unnest(:organizations, :kinds, :after) with ordinality
          w (organization, kinds, after, ordinal)
        where exists (
          select from read.register r
          where r.organization = w.organization and r.kind = any(string_to_array(w.kinds, ',')::smallint[])
            and r.position > w.after
        )
      ) as news
    from read.checkpoints c where c.projection = 'register'`,
);

/** An element, and its position in the feed. */
export type PlacedElement = FeedPosition & { readonly row: ElementRow };

/** Returns the elements of a page with their positions in the feed. */
export const placedElements = ({ elements }: FeedPage): PlacedElement[] =>
  elements.map((row) => ({ position: row.position, event: eventMark(row.eventId), row }));
