import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { EventLog } from '../event-log/event-log.js';
import { DatabaseClock } from '../postgres/clock.js';
import { checkBrand } from '../http/access/access.js';
import { rangeAt } from '../http/parameters.js';
import { INVALID_CURSOR, PageCursors } from '../http/responses/page-cursor.js';
import { type AsOf, momentOf } from '../http/responses/send-snapshot.js';
import {
  type AnswerFrom,
  RecordQueries,
  requireReached,
  type Send,
  type ItemRow,
  FIND_RECORD,
} from './record-queries.js';
import type { RequestedSelection, Selection } from './selection.js';
import { type PageRequest, type ListedRow, listPage, withBranches } from './page-sql.js';
import { NotFound } from '../errors.js';
import { LISTED_KIND, type ListedKind } from '../events/listed-items.js';
import { recordId } from '../events/record-id.js';
import { itemOf } from './item.js';
import { nullable, type RowOf, statement } from '../postgres/statement.js';

/** A page of a list as the response shows it. */
interface Page {
  readonly rows: readonly ItemRow[];
  /** Undefined: this is the last page. */
  readonly nextCursor: string | undefined;
  /**
   * The position of the last change of any record of the kind. Undefined unless this is the first of several pages:
   * later pages show the state of the first one.
   */
  readonly lastChange: number | undefined;
}

/** The position of the last change of any record of a kind, up to a position. */
export const READ_LAST_CHANGE = statement(
  'records-last-change',
  { organization: 'text', kind: 'smallint', upTo: 'bigint' },
  { position: nullable('bigint') },
  `
    select max(position) as position from read.register
    where organization = :organization and kind = :kind and position <= :upTo`,
);

/** Lists a page of records, newest first. */
export class ListRecords extends Query<AsOf<Page>> {
  constructor(
    readonly selection: RequestedSelection,
    readonly limit: number,
    /** The `nextCursor` of the previous page. */
    readonly cursor: string | undefined,
    /** The response must reflect all events up to this position of the log. */
    readonly minPosition?: number,
  ) {
    super();
  }
}

/** A page as it was read, with its last key if there are more pages. */
interface ReadPage {
  readonly rows: readonly (ItemRow & { readonly newest: number })[];
  readonly endKey: readonly [newest: number, id: string] | undefined;
  /** ms */
  readonly asOf: number;
  /** The position of the log that the rows include. */
  readonly position: number;
  /** The value of `position` when the first page was read. */
  readonly upTo: number;
}

/**
 * The content of a cursor: the last instant of the range and the position of the log when the first page was read, then
 * the negated instant and the id of the last key, then the `asOf` of the first page, which version 2.2 does not write.
 * Instants are in ms.
 */
type CursorPosition = readonly [to: number, upTo: number, newest: number, id: string, asOf: number];
const CURSOR_SHAPE: CursorPosition = [0, 0, 0, '', 0];
const UNKNOWN_AS_OF = [Number.MAX_SAFE_INTEGER];

const foundIn = (rows: readonly ListedRow[]) => rows.filter((row) => row.id !== null);

/** Reads a page. The page ends when it reaches the limit of rows, of bytes or of examined keys. */
export const readPage = async (
  selection: Selection,
  page: PageRequest,
  send: Send,
  isReplica = false,
): Promise<ReadPage> => {
  const { limit } = page;
  const listed = await withBranches(selection, (branches) =>
    send<ListedRow>(listPage(selection, { ...page, limit: limit + 1 }, branches)),
  );
  const rows = foundIn(listed)
    .slice(0, limit)
    .map(({ id, newest, parts }) => ({ id, newest, item: itemOf(selection.kind, id, parts) }));
  const found = foundIn(listed)[0]?.found ?? 0;
  // A replica must have at least the rows of the first page.
  requireReached(isReplica, listed[0]!.upTo, page.upTo);
  const { asOf, upTo } = listed[0]!;
  const moment = { ...momentOf({ asOf, position: upTo }), upTo: page.upTo ?? upTo ?? 0 };
  const last = rows.at(-1);
  const endKey =
    last && found > rows.length ? ([last.newest, last.id] as const) : (listed[0]!.lastExamined ?? undefined);
  return { rows, endKey, ...moment };
};

@QueryHandler(ListRecords)
export class ListRecordsHandler implements IQueryHandler<ListRecords> {
  constructor(
    private readonly queries: RecordQueries,
    private readonly log: EventLog,
    private readonly clock: DatabaseClock = new DatabaseClock(),
  ) {}

  /**
   * @throws as `RecordQueries.run`
   * @throws Invalid if the cursor belongs to another selection
   * @throws Forbidden if the organization may not see brands, NotFound if it has no such brand
   */
  async execute({ selection: requested, limit, cursor, minPosition }: ListRecords): Promise<AsOf<Page>> {
    const { organization, brand } = requested;
    const cursors = new PageCursors(await this.log.id(), 'records', INVALID_CURSOR);
    const cursorPosition =
      cursor === undefined ? undefined : cursors.read(requested, cursor, CURSOR_SHAPE, UNKNOWN_AS_OF);
    const key = JSON.stringify([requested, limit, cursor, minPosition]);
    const read: AnswerFrom<AsOf<Page>> = async (send, pool, isReplica) => {
      if (brand !== undefined) await checkBrand(pool, organization, brand);
      const range = cursorPosition
        ? { from: requested.range.from, to: cursorPosition[0] }
        : rangeAt(requested.range, this.clock.now());
      const selection = { ...requested, range };
      const [, knownUpTo, newest, id, knownAsOf] =
        cursorPosition ?? ([range.to, null, -range.to, '', Infinity] as const);
      const request = { after: [newest, id] as const, upTo: knownUpTo, limit };
      const { rows, endKey, upTo, ...present } = await readPage(selection, request, send, isReplica);
      // A later page shows no change after the first page, whenever it is read.
      const asOf = Math.min(present.asOf, knownAsOf);
      const position = Math.min(present.position, knownUpTo ?? Infinity);
      const nextCursor = endKey && cursors.write(requested, [range.to, upTo, ...endKey, asOf]);
      const isFirstOfSeveral = nextCursor !== undefined && cursorPosition === undefined;
      const query = READ_LAST_CHANGE.query({ organization, kind: requested.kind, upTo });
      const [last] = isFirstOfSeveral ? await send<RowOf<typeof READ_LAST_CHANGE>>(query) : [];
      return { result: { rows, nextCursor, lastChange: last?.position ?? undefined }, asOf, position };
    };
    return this.queries.run({ organization, key, read, minPosition, write: (page) => page });
  }
}

/** Reads one record as JSON. */
export class GetRecord extends Query<AsOf<string>> {
  constructor(
    readonly organization: string,
    readonly kind: ListedKind,
    readonly id: string,
    /** The response must reflect all events up to this position of the log. */
    readonly minPosition?: number,
  ) {
    super();
  }
}

const NAMES: Readonly<Record<ListedKind, string>> = {
  report: 'Report',
  threat: 'Threat',
  takedown: 'Takedown',
  verdict: 'Verdict',
  dispute: 'Dispute',
};

@QueryHandler(GetRecord)
export class GetRecordHandler implements IQueryHandler<GetRecord> {
  constructor(private readonly queries: RecordQueries) {}

  /**
   * @throws as `RecordQueries.run`
   * @throws NotFound if the organization has no such record
   */
  execute({ organization, kind, id, minPosition }: GetRecord): Promise<AsOf<string>> {
    const read: AnswerFrom<AsOf<string>> = async (send) => {
      const named = { organization, kind: LISTED_KIND[kind], id };
      const query = FIND_RECORD.query({ organization, record: recordId(named) });
      const [row] = await send<RowOf<typeof FIND_RECORD>>(query);
      if (row!.parts === null) throw new NotFound(`${NAMES[kind]} not found`);
      return { result: itemOf(named.kind, id, row!.parts), ...momentOf({ asOf: row!.asOf, position: row!.upTo }) };
    };
    const key = `${kind} ${minPosition} ${id}`;
    return this.queries.run({ organization, key, read, minPosition, write: (record) => record });
  }
}
