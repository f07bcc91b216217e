import { LISTED_KIND } from '../../events/kinds.js';
import { json, nullable, statement } from '../../postgres/statement.js';
import { type ElementRow, MAX_ATTRIBUTE_BYTES } from './element.js';

/** Maximum size of a response, as JSON. It holds at least one element. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
/**
 * The most bytes that an element takes: its item, the attributes around the item, and the record's id, of which JSON
 * escapes quotes and backslashes.
 */
const ELEMENT_BYTES = `(coalesce(octet_length(item), 0) + 2 * octet_length(id) + ${MAX_ATTRIBUTE_BYTES})`;
/** Parked events that are told apart within an answer; beyond, it ends earlier. */
export const MAX_PARKED = 1_000;

/** The condition of the index `parked_events_of_entries`. */
const OF_ENTRY = `type in ('AssetStatusChanged', 'AssetStatusChangeDeleted')`;
/**
 * The parked events that would change the organization's feed if they were applied. An event about an entry of the asset
 * status history concerns the organizations that it names, and those that have a verdict of the entry, which the event
 * may take away. If the organizations of such an event are not known, it counts for every organization. The orders choose
 * the indexes: other indexes have these columns too, behind a column that is not asked for.
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
 * Each column of the elements as one JSON array: the driver takes ten times as long for a thousand rows of them. Items
 * have a line each: what is JSON already need not become JSON again.
 */
type Columns<Row> = { readonly [Name in keyof Row]: readonly Row[Name][] | null };

/** The next elements, null if there are none, and the moment they are of. */
export interface FeedPage extends Columns<Omit<ElementRow, 'item'>> {
  readonly items: string | null;
  /** Everything acknowledged before this instant (ms) is shown. */
  readonly asOf: number | null;
  /** The log's position that the rows have reached. */
  readonly upTo: number | null;
  /**
   * Stands for the parked events that concern the organization: those at or before the position asked for, and those
   * after it, up to the first element's.
   */
  readonly parkedBefore: number;
  readonly parkedToFirst: number;
  /** The position of the first of the organization's at or before the position asked for; null: there is none. */
  readonly parkedFirst: number | null;
  /** Position and hash of the organization's after the position asked for. */
  readonly parked: readonly (readonly [position: number, hash: number])[] | null;
  /** Elements there were, up to the limit, before the answer was cut to its bytes. */
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

/** A page's elements one by one, in order. */
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
 * The next elements of an organization's feed, in one snapshot: a slice of an index for each kind, merged.
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

/** By the kinds, ascending and joined by dashes: every choice of them. */
export const NEXT_ELEMENTS: Readonly<Record<string, ReturnType<typeof nextOf>>> = Object.fromEntries(
  Array.from({ length: 15 }, (_, index) => [1, 2, 3, 4].filter((kind) => ((index + 1) >> (kind - 1)) & 1)).map(
    (kinds) => [kinds.join('-'), nextOf(kinds)],
  ),
);

/** Which of those who wait have something to read; they are numbered from 1. */
export const WHO_HAS_NEWS = statement(
  'feed-who-has-news',
  {
    organizations: 'text[]',
    /** Of each, joined by commas. */
    kinds: 'text[]',
    /** The position after which each waits. */
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
