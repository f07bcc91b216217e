import { LISTED_KIND } from '../../events/kinds.js';
import { json, nullable, statement } from '../../postgres/statement.js';
import { type ElementRow, MAX_ATTRIBUTE_BYTES } from './element.js';

/** Maximum size of a response, as JSON. It holds at least one element. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
/**
 * The maximum size of an element in bytes: its item, its attributes and the id of the record, which doubles if JSON
 * escapes each character.
 */
const ELEMENT_BYTES = `(coalesce(octet_length(item), 0) + 2 * octet_length(id) + ${MAX_ATTRIBUTE_BYTES})`;
/**
 * Maximum number of parked events listed in a page. If there are more, the response ends before the first unlisted one.
 */
export const MAX_PARKED = 1_000;

/** The condition of the index `parked_events_of_entries`. */
const OF_ENTRY = `type in ('AssetStatusChanged', 'AssetStatusChangeDeleted')`;
/**
 * Selects the parked events that would change the feed of the organization if they were applied. An event about an
 * entry of the asset status history concerns the organizations that it names, and the organizations with a verdict from
 * that entry, which the event may remove. If the organizations of such an event are unknown, it concerns every
 * organization. The `order by` clauses make PostgreSQL use the indexes that begin with the compared columns.
 */
const parkedWhere = (condition: string): string => `
          (
            select position, event_id from read.parked_events
            where organization = $1 and projection = 'records' and not (${OF_ENTRY}) and ${condition}
            order by organization, position
          ) union all (
            select position, event_id from read.parked_events p
            where projection = 'records' and ${OF_ENTRY} and ${condition} and (
              organizations is null or $1 = any(organizations) or (
                select r.id from read.listed_records r
                where r.organization = $1 and r.kind = ${LISTED_KIND.verdict} and r.id = p.change_id
                order by r.organization, r.kind, r.id limit 1
              ) is not null
            )
            order by projection, position
          )`;

/**
 * The elements as one JSON array per column, because the driver takes ten times as long to read a thousand rows. The
 * items are lines of text instead, because they are JSON already.
 */
type Columns<Row> = { readonly [Name in keyof Row]: readonly Row[Name][] | null };

/** The next elements, and the position and time of the read models. The columns are null if there are no elements. */
export interface FeedPage extends Columns<Omit<ElementRow, 'item'>> {
  readonly items: string | null;
  /** The page includes everything that was acknowledged before this instant (ms). */
  readonly asOf: number | null;
  /** The position in the log that the read models have reached. */
  readonly upTo: number | null;
  /** The checksum of the organization's parked events up to the requested position. */
  readonly parkedBefore: number;
  /** The checksum of the organization's parked events from there up to the position of the first element. */
  readonly parkedToFirst: number;
  /** The position of the organization's first parked event; null if it has none up to the requested position. */
  readonly parkedFirst: number | null;
  /** The organization's parked events after the requested position, at most `MAX_PARKED`. */
  readonly parked: readonly (readonly [position: number, hash: number])[] | null;
  /** The number of elements, up to the limit, before the page was cut to its maximum size in bytes. */
  readonly found: number;
}

const column = <Name extends keyof ElementRow>(_name: Name) => nullable(json<readonly ElementRow[Name][]>());

const COLUMNS = {
  asOf: nullable('bigint'),
  upTo: nullable('bigint'),
  parkedBefore: nullable('integer'),
  parkedFirst: nullable('bigint'),
  parkedToFirst: nullable('integer'),
  parked: nullable(json<NonNullable<FeedPage['parked']>>()),
  found: nullable('bigint'),
  position: column('position'),
  kind: column('kind'),
  id: column('id'),
  eventId: column('eventId'),
  storedAt: column('storedAt'),
  items: nullable('text'),
} as const;

/** Returns the elements of a page, in order. */
export const rowsOf = (page: FeedPage): ElementRow[] => {
  const { kind, id, eventId, storedAt } = page;
  const items = page.items?.split('\n') ?? [];
  return (page.position ?? []).map((position, n) => ({
    position,
    kind: kind![n]!,
    id: id![n]!,
    eventId: eventId![n]!,
    storedAt: storedAt![n]!,
    item: items[n]!,
  }));
};

/**
 * Creates the statement that reads the next elements of an organization's feed. It merges one index range for each
 * kind, in one snapshot.
 * @param kinds as in `kinds.ts`, ascending
 */
const nextOf = (kinds: readonly number[]) => {
  const branches = kinds.map(
    (kind) =>
      `select position, kind, id, event_id, stored_at, item from read.listed_records where organization = $1 and kind = ${kind} and position > $2::bigint order by position`,
  );
  const inOrder = (column: string): string => `json_agg(${column} order by position)`;
  return statement(
    `feed-next-${kinds.join('-')}`,
    { organization: 'text', after: 'bigint', limit: 'integer' },
    COLUMNS,
    `
    with next as materialized (
      select * from (${branches.map((branch) => `(${branch})`).join(' union all ')}) each order by position limit $3::int
    ), passed as materialized (
      select coalesce(bit_xor(uuid_hash(event_id)), 0) as mark, min(position) as first
      from (${parkedWhere('position <= $2')}
      ) parked
    )
    select
      (select as_of from read.checkpoints where projection = 'records') as "asOf",
      (select position from read.checkpoints where projection = 'records') as "upTo",
      (select mark from passed) as "parkedBefore",
      (select first from passed) as "parkedFirst",
      coalesce((
        select bit_xor(uuid_hash(event_id)) from (${parkedWhere('position > $2 and position <= page.first')}
        ) parked
      ), 0) as "parkedToFirst",
      (
        select json_agg(json_build_array(position, hash) order by position) from (
          select position, uuid_hash(event_id) as hash from (${parkedWhere('position > $2')}
          ) parked
          order by position limit ${MAX_PARKED}
        ) after
      ) as parked,
      (select count(*) from next) as found,
      page.position, page.kind, page.id, page."eventId", page."storedAt", page.items
    from (
      select min(position) as first,
        ${inOrder('position')} as position, ${inOrder('kind')} as kind, ${inOrder('id')} as id,
        ${inOrder('event_id')} as "eventId", ${inOrder('stored_at')} as "storedAt",
        string_agg(coalesce(item, ''), e'\\n' order by position) as items
      from (
        select *, row_number() over in_order as number, sum(${ELEMENT_BYTES}) over in_order as bytes
        from next
        window in_order as (order by position rows unbounded preceding)
      ) sized
      where bytes < ${MAX_RESPONSE_BYTES} or number = 1
    ) page`,
  );
};

/** One statement for each combination of kinds. The keys are the kinds, ascending and joined by dashes: `1-3`. */
export const NEXT_ELEMENTS: Readonly<Record<string, ReturnType<typeof nextOf>>> = Object.fromEntries(
  Array.from({ length: 15 }, (_, index) => [1, 2, 3, 4].filter((kind) => ((index + 1) >> (kind - 1)) & 1)).map(
    (kinds) => [kinds.join('-'), nextOf(kinds)],
  ),
);

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
        select w.ordinal::int from unnest($1::text[], $2::text[], $3::bigint[]) with ordinality
          w (organization, kinds, after, ordinal)
        where exists (
          select from read.listed_records r
          where r.organization = w.organization and r.kind = any(string_to_array(w.kinds, ',')::smallint[])
            and r.position > w.after
        )
      ) as news
    from read.checkpoints c where c.projection = 'records'`,
);
