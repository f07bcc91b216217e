import { json, nullable, type RowOf, statement } from '../../postgres/statement.js';
import { EVENT_AT_POSITION } from '../feed/feed-elements.js';
import { ITEM_PARTS, itemBytes, itemOf } from '../item.js';
import type { ObjectRow } from './objects.js';
import { limit } from '../../limits.js';

/** The most objects of a page, and the most bytes of their texts. A millisecond with more is split between pages. */
const MAX_OBJECTS = limit('page of TAXII with its last millisecond', 5_000, 'objects', 'request', 'more by `next`');
const MAX_BYTES = limit('JSON of a page of TAXII', 4 * 1024 * 1024, 'bytes', 'request', 'more by `next`');
/** The most bytes of an object: its attributes, and twice the texts of its record. */
const OBJECT_BYTES = `(700 + 2 * (octet_length(id) + coalesce(${itemBytes('parts')}, 0)))`;
/** How long the last millisecond of the log is held back, in which an append may still be committing. */
const HELD_MS = 200;

const NEVER = Number.MAX_SAFE_INTEGER;

interface Moment {
  readonly asOf: number | null;
  readonly upTo: number | null;
  /** The millisecond that is held back, and the position of its first event; null if there is none. */
  readonly heldAt: number | null;
  readonly heldFrom: number | null;
  /** Whether there are objects after the page. */
  readonly hasMore: boolean;
  /** Whether any of the requested objects exists. */
  readonly isFound: boolean;
  /** The last object of the page; null if there is none. */
  readonly last: {
    readonly addedAt: number;
    readonly position: number;
    /** The instant at which the log stored the event at the position (ms). */
    readonly storedAt: number;
    readonly eventId: string;
  } | null;
}

const OF_COLLECTION = 'r.organization = :organization and r.kind = :kind and r.has_counted';

/**
 * Creates a statement that reads the next objects of a collection: up to `limit`, and the rest of the last millisecond.
 * If that is too large, the page ends at the end of the millisecond before, if there is one.
 * @param condition which objects
 */
const nextOf = (name: string, condition: string) => {
  const wanted = `${OF_COLLECTION} and ${condition} and r.added_at < (select coalesce(held_at, ${NEVER}) from h)`;
  const after = '(r.added_at, r.position) > (:afterDate, :afterPosition)';
  return statement(
    `taxii-${name}`,
    {
      organization: 'text',
      kind: 'smallint',
      afterDate: 'bigint',
      afterPosition: 'bigint',
      limit: 'integer',
      ids: nullable('uuid[]'),
      versions: nullable('bigint[]'),
    },
    /** One object per line, because JSON escapes line breaks; null if there are none. */
    { moment: json<Moment>(), objects: nullable('text') },
    `
    with h as materialized (
      select c.*, k.added_at as held_at, k.position as held_from
      from read.checkpoints c left join read.register_clock k on c.as_of <= c.applied_at + ${HELD_MS}
      where c.projection = 'register'
    ),
    ends as materialized (
      select min(added_at) as at from (
        select r.added_at from read.register r where ${wanted} and ${after}
        order by r.added_at, r.position offset greatest(:limit - 1, 0) limit 1
      ) last
    ),
    sized as materialized (
      select added_at, position, first_added_at, stored_at, ${EVENT_AT_POSITION} as event_id, record, id, parts,
        row_number() over in_order as number, sum(${OBJECT_BYTES}) over in_order as bytes
      from (
        select r.*, ${ITEM_PARTS} as parts from read.register r
        where ${wanted} and ${after} and r.added_at <= coalesce((select at from ends), ${NEVER})
        order by r.added_at, r.position limit ${MAX_OBJECTS + 1}
      ) next
      window in_order as (order by added_at, position rows unbounded preceding)
    ),
    cut as materialized (
      select min(added_at) as at, min(number) as number, (select min(added_at) from sized) as first from sized
      where number > ${MAX_OBJECTS} or number > 1 and bytes > ${MAX_BYTES}
    ),
    page as materialized (
      select sized.* from sized, cut
      where cut.at is null or sized.added_at < cut.at or cut.at = cut.first and sized.number < cut.number
    ),
    last as materialized (select * from page order by number desc limit 1)
    select json_build_object(
      'asOf', (select as_of from h),
      'upTo', (select position from h),
      'heldAt', (select held_at from h),
      'heldFrom', (select held_from from h),
      'hasMore', exists (
        select from read.register r where ${wanted} and (r.added_at, r.position) >
          ((select added_at from last), (select position from last))
      ),
      'isFound', exists (select from read.register r where ${OF_COLLECTION} and r.record = any(:ids)),
      'last', (
        select json_build_object('addedAt', added_at, 'position', position, 'storedAt', stored_at, 'eventId', event_id
        ) from last
      )
    ) as moment, (
      select string_agg(
        concat_ws(' ', added_at, first_added_at, record, id, coalesce(parts, '')), E'\\n' order by number
      ) from page
    ) as objects`,
  );
};

/** One condition for each index, because the planner must not scan a collection for a few objects. */
export const NEXT_OBJECTS = {
  all: nextOf('next', ':ids is null and :versions is null'),
  versions: nextOf('next-versions', ':ids is null and r.added_at = any(:versions)'),
  ids: nextOf('next-ids', 'r.record = any(:ids) and (:versions is null or r.added_at = any(:versions))'),
};

export type PageRow = RowOf<(typeof NEXT_OBJECTS)['all']>;

/** Parses the line of an object; only the parts of the item, at the end, contain further spaces. */
export const parseObject = (kind: number, text: string): ObjectRow => {
  const fields = text.split(' ', 4) as [string, string, string, string];
  const [addedAt, firstAddedAt, record, id] = fields;
  const parts = text.slice(fields.join(' ').length + 1);
  return {
    addedAt: +addedAt,
    firstAddedAt: +firstAddedAt,
    record,
    id,
    item: parts === '' ? '' : itemOf(kind, id, parts),
  };
};
