import { FEED_SOURCE, FEED_TYPE_PREFIX } from '../../events/feed-schema.js';
import { formatInstant } from '../../events/instant.js';
import { kindOf, LISTED_KIND, numbersOf } from '../../events/listed-items.js';
import { Gone, Invalid } from '../../errors.js';
import { BLOCK_BYTES, SealedBlocks } from '../../http/sealed-blocks.js';
import { json, nullable, type RowOf, statement } from '../../postgres/statement.js';
import { limit } from '../../limits.js';

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

/** A position in the feed. */
export interface FeedPosition {
  /** Position in the log. */
  readonly position: number;
  /**
   * The first 8 hexadecimal digits of the id of the event at the position. After a restore, another event with other
   * digits is at the position.
   */
  readonly event: string;
  /**
   * A checksum of the parked events of the organization up to the position. If an operator retries a parked event, the
   * change appears in the feed at the position of that event, which the client may have passed already. The changed
   * checksum reveals this.
   */
  readonly parked: number;
}

/** The message for a malformed id. */
export const MALFORMED_ID = 'lastEventId must be the id of an element of this feed';
const FOREIGN_ID =
  'lastEventId is from another log, or from before a restore or the retry of a parked event; start again without lastEventId';
const ERRORS = { malformed: () => new Invalid(MALFORMED_ID), foreign: () => new Gone(FOREIGN_ID) };

/**
 * The ids of a feed's elements. Each id is one encrypted block that only instances of this service can read, so that
 * clients do not depend on its content, and do not learn how many events other organizations have.
 */
export class FeedIds {
  private readonly blocks: SealedBlocks;

  constructor(logId: string) {
    this.blocks = new SealedBlocks(`feed of ${logId}`);
  }

  /** Creates the ids of many positions in one call, which costs little more than a single id. */
  write(places: readonly FeedPosition[]): string[] {
    const plain = Buffer.alloc(places.length * BLOCK_BYTES);
    for (const [index, { position, event, parked }] of places.entries()) {
      plain.writeBigInt64BE(BigInt(position), index * BLOCK_BYTES);
      plain.write(event, index * BLOCK_BYTES + 8, 'hex');
      plain.writeInt32BE(parked, index * BLOCK_BYTES + 12);
    }
    return this.blocks.seal(plain);
  }

  /**
   * @throws Invalid if the id is malformed
   * @throws Gone if the id is from another log
   */
  read(id: string): FeedPosition {
    const plain = this.blocks.open(id, ERRORS);
    const position = plain.readBigInt64BE(0);
    // Authenticates the id: a foreign block does not decrypt to a valid position.
    if (position < 0n || position > BigInt(Number.MAX_SAFE_INTEGER)) throw ERRORS.foreign();
    return { position: Number(position), event: plain.toString('hex', 8, 12), parked: plain.readInt32BE(12) };
  }
}

export const eventMark = (eventId: string): string => eventId.slice(0, 8);

/**
 * @throws Gone if the log no longer has the event of the id, or if a parked event before the position of the id has
 *   been applied in the meantime
 */
export const requireUnchanged = (isUnchanged: boolean): void => {
  if (!isUnchanged) throw ERRORS.foreign();
};

/** Maximum size of a response, as JSON. The first element is included even if it exceeds this size. */
const MAX_RESPONSE_BYTES = limit('feed page as JSON', 4 * 1024 * 1024, 'bytes', 'request', 'the page is shorter');
/**
 * The maximum size of an element in bytes: its item, its attributes and the id of the record, whose size doubles if
 * JSON escapes each character.
 */
const ELEMENT_BYTES = `(coalesce(octet_length(item), 0) + 2 * octet_length(id) + ${MAX_ATTRIBUTE_BYTES})`;
/**
 * Maximum number of parked events listed in a page. If there are more parked events, the response ends before the first
 * event that is not listed.
 */
const MAX_PARKED = 1_000;

/**
 * The event at the position of a listed record. `moved_by` is outdated if a projector of version 2.1 has changed the row.
 */
export const EVENT_AT_POSITION = 'case when moved_to = position then moved_by else event_id end';

/**
 * Maximum number of checksums that `hasSameParked` combines. Each doubles the probability, once in 2^32, that the retry of
 * a parked event is not noticed. If an organization gains verdicts from more such entries, ids may answer 410 too early.
 */
const MAX_BY_VERDICT = 8;

/** The condition of the index `parked_events_of_entries`. */
const OF_ENTRY = `type in ('AssetStatusChanged', 'AssetStatusChangeDeleted')`;
/** Whether the organization has a verdict from the entry of a parked event `p`. */
const HAS_VERDICT = `(
                select r.id from read.listed_records r
                where r.organization = $1 and r.kind = ${LISTED_KIND.verdict} and r.id = p.change_id
                order by r.organization, r.kind, r.id limit 1
              ) is not null`;
/**
 * Selects the parked events that would change the feed of the organization if they were applied. An event about an
 * entry of the asset status history concerns the organizations that the event names, and the organizations with a
 * verdict from that entry, which the event may remove. The redaction of an entry concerns only the organizations with a
 * verdict from the entry, which `by_verdict` names. If the organizations of an event about an entry are unknown, the event
 * concerns every organization. The `order by` clauses make PostgreSQL use the indexes that begin with the compared
 * columns.
 */
export const parkedWhere = (condition: string): string => `
          (
            select position, event_id, null as by_verdict from read.parked_events
            where organization = $1 and projection = 'records' and not (${OF_ENTRY}) and ${condition}
            order by organization, position
          ) union all (
            select position, event_id,
              case when organizations is not null and not $1 = any(organizations) then change_id end as by_verdict
            from read.parked_events p
            where projection = 'records' and ${OF_ENTRY} and ${condition}
              and (organizations is null or $1 = any(organizations) or ${HAS_VERDICT})
            order by projection, position
          ) union all (
            select position, event_id, change_id as by_verdict from read.parked_events p
            where organization is null and projection = 'records' and type = 'ContentRedacted' and ${condition}
              and ${HAS_VERDICT}
            order by organization, position
          )`;

/** What is known of the parked events up to a position that a reader was given. */
export interface ParkedMarks {
  /** The checksum of the organization's parked events up to the requested position. */
  readonly parkedBefore: number;
  /**
   * For each entry, the checksum of its parked events up to the requested position that concern the organization only
   * since it has a verdict from the entry; at most `MAX_BY_VERDICT`, those with the latest events.
   */
  readonly parkedByVerdict: readonly number[] | null;
}

/** The state of the read models, and of the organization's parked events, at the moment of a page. */
interface PageMoment extends ParkedMarks {
  /** The page includes everything that was acknowledged before this instant (ms). */
  readonly asOf: number | null;
  /** The position in the log that the read models have reached. */
  readonly upTo: number | null;
  /**
   * The checksum of the organization's parked events after the requested position, up to the position of the first
   * element.
   */
  readonly parkedToFirst: number;
  /**
   * The position of the organization's first parked event; null if there is no parked event up to the requested
   * position.
   */
  readonly parkedFirst: number | null;
  /** The organization's parked events after the requested position, at most `MAX_PARKED`. */
  readonly parked: readonly (readonly [position: number, hash: number])[] | null;
}

/** The next elements in order, and the state of the read models from which they were read. */
export interface FeedPage extends PageMoment {
  readonly elements: readonly ElementRow[];
  /** Whether elements are missing, because the page reached its maximum size in bytes. */
  readonly isCut: boolean;
}

const COLUMNS = {
  moment: json<PageMoment>(),
  /** The elements in order, one per line, because JSON escapes line breaks; null if there are none. */
  elements: nullable('text'),
  isCut: 'boolean',
} as const;

/** Parses the line of an element; only the item, at the end, may contain spaces. */
const parseElement = (text: string): ElementRow => {
  const [position, kind, storedAt, eventId, id] = text.split(' ', 5) as [string, string, string, string, string];
  const itemAt = position.length + kind.length + storedAt.length + eventId.length + id.length + 5;
  return { position: +position, kind: +kind, storedAt: +storedAt, eventId, id, item: text.slice(itemAt) };
};

/** The row of a statement of `NEXT_ELEMENTS`. */
export type PageRow = RowOf<ReturnType<typeof nextOf>>;

/** @param rows the only row of a statement of `NEXT_ELEMENTS` */
export const pageOf = ([row]: readonly PageRow[]): FeedPage => {
  const { moment, elements, isCut } = row!;
  return { ...moment, elements: elements?.split('\n').map(parseElement) ?? [], isCut };
};

/** Selects the parked events up to a position, as `passed`, from which `PARKED_MARKS` are made. */
export const passedUpTo = (position: string): string => `
      select uuid_hash(event_id) as hash, position, by_verdict from (${parkedWhere(`position <= ${position}`)}
      ) parked
    `;

/** The fields of `ParkedMarks`, in SQL. */
export const PARKED_MARKS = `'parkedBefore', (select coalesce(bit_xor(hash), 0) from passed),
      'parkedByVerdict', (
        select json_agg(mark) from (
          select bit_xor(hash) as mark from passed where by_verdict is not null
          group by by_verdict order by max(position) desc limit ${MAX_BY_VERDICT}
        ) entries
      )`;

/**
 * Creates the statement that reads the next elements of an organization's feed. The statement merges one index range
 * for each kind, in one snapshot.
 * @param kinds as in `listed-items.ts`, ascending
 */
const nextOf = (kinds: readonly number[]) => {
  const branches = kinds.map(
    (kind) =>
      `select position, kind, id, ${EVENT_AT_POSITION} as event_id, stored_at, item from read.listed_records where organization = $1 and kind = ${kind} and position > $2::bigint order by position`,
  );
  const merged = `(${branches.map((branch) => `(${branch})`).join(' union all ')}) merged order by position`;
  return statement(
    `feed-next-${kinds.join('-')}`,
    { organization: 'text', after: 'bigint', limit: 'integer' },
    COLUMNS,
    `
    with passed as materialized (${passedUpTo('$2')})
    select json_build_object(
      'asOf', (select as_of from read.checkpoints where projection = 'records'),
      'upTo', (select position from read.checkpoints where projection = 'records'),
      ${PARKED_MARKS},
      'parkedFirst', (select min(position) from passed),
      'parkedToFirst', coalesce((
        select bit_xor(uuid_hash(event_id))
        from (${parkedWhere(`position > $2 and position <= (select position from ${merged} limit 1)`)}
        ) parked
      ), 0),
      'parked', (
        select json_agg(json_build_array(position, hash) order by position) from (
          select position, uuid_hash(event_id) as hash from (${parkedWhere('position > $2')}
          ) parked
          order by position limit ${MAX_PARKED}
        ) after
      )
    ) as moment, elements, is_cut as "isCut"
    from (
      select string_agg(concat_ws(' ', position, kind, stored_at, event_id, id, coalesce(item, '')), E'\\n' order by position)
          filter (where fits) as elements,
        coalesce(not bool_and(fits), false) as is_cut
      from (
        select *, row_number() over in_order = 1 or sum(${ELEMENT_BYTES}) over in_order < ${MAX_RESPONSE_BYTES} as fits
        from (select * from ${merged} limit $3::int) next
        window in_order as (order by position rows unbounded preceding)
      ) sized
    ) page`,
  );
};

const KINDS = numbersOf();

/** The statement of each set of kinds, by the numbers of the kinds joined by hyphens. */
export const NEXT_ELEMENTS: Readonly<Record<string, ReturnType<typeof nextOf>>> = Object.fromEntries(
  Array.from({ length: 2 ** KINDS.length - 1 }, (_, set) => KINDS.filter((_, n) => ((set + 1) >> n) & 1)).map(
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

/**
 * Whether no parked event of a position has been applied since the position was given to a reader. Events that did not
 * concern the organization at that time, because it had no verdict from their entry, may be missing from the checksum:
 * the verdict is after the position, and so is what they change.
 * @param page read after the position
 * @param mark the checksum of the position
 */
export const hasSameParked = ({ parkedBefore, parkedByVerdict }: ParkedMarks, mark: number): boolean => {
  // Whether the difference is the XOR of some of the checksums is decided by elimination of their leading bits.
  const leading: number[] = [];
  const reduced = (value: number): number =>
    leading.reduce((rest, checksum) => Math.min(rest, (rest ^ checksum) >>> 0), value >>> 0);
  for (const checksum of parkedByVerdict ?? []) {
    const rest = reduced(checksum);
    if (rest !== 0) leading.push(rest);
  }
  return reduced(mark ^ parkedBefore) === 0;
};

/** An element, and its position in the feed. */
export type PlacedElement = FeedPosition & { readonly row: ElementRow };

/**
 * Returns the elements of a page with their positions in the feed. A position includes a checksum of all parked events
 * up to that position, so the result ends before the first element for which parked events are missing from the page.
 */
export const placedElements = (page: FeedPage): PlacedElement[] => {
  const rows = page.elements;
  const parked = page.parked ?? [];
  // If the list of parked events is truncated, the checksum is known only for elements before the last listed event,
  // and for the first element, whose checksum the statement computes.
  const knownUpTo = parked.length < MAX_PARKED ? Number.POSITIVE_INFINITY : parked.at(-1)![0];
  let mark = page.parkedBefore ^ page.parkedToFirst;
  let next = rows.length === 0 ? 0 : parked.findIndex(([position]) => position > rows[0]!.position);
  if (next === -1) next = parked.length;
  const elements: PlacedElement[] = [];
  for (const row of rows) {
    if (elements.length > 0 && row.position >= knownUpTo) break;
    for (; next < parked.length && parked[next]![0] <= row.position; next += 1) mark ^= parked[next]![1];
    elements.push({ position: row.position, event: eventMark(row.eventId), parked: mark, row });
  }
  return elements;
};
