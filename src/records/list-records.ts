import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { EventLog } from '../event-log/event-log.js';
import { checkBrand } from '../http/access/check-brand.js';
import { rangeAt } from '../http/range.js';
import { PageCursors } from '../http/answers/page-cursor.js';
import { type AsOf, momentOf } from '../http/answers/send-counted.js';
import { type AnswerFrom, RecordQueries, requireReached, type Send } from './record-queries.js';
import { NO_CURSOR } from './records.dto.js';
import type { AskedSelection, Selection } from './selection.js';
import type { PageRequest } from './page/filter-sql.js';
import { type ListedRow, listPage } from './page/statements.js';
import type { ItemRow } from './statements.js';

/** A page of a list. */
export interface Page {
  readonly rows: readonly ItemRow[];
  /** Absent: this is the last page. */
  readonly nextCursor: string | undefined;
}

/** A page of records, newest first. */
export class ListRecords extends Query<AsOf<Page>> {
  constructor(
    readonly selection: AskedSelection,
    readonly limit: number,
    /** From the page before. */
    readonly cursor: string | undefined,
    /** The answer includes at least this position. */
    readonly minPosition?: number,
  ) {
    super();
  }
}

/** A page's rows, and the key it ended with if there are more. */
interface ReadPage {
  readonly rows: readonly (ItemRow & { readonly newest: number })[];
  readonly end: readonly [newest: number, id: string] | undefined;
  /** ms */
  readonly asOf: number;
  /** The position that the rows have reached. */
  readonly position: number;
  /** The position as of the first page. */
  readonly upTo: number;
}

/**
 * Where a page ended: the last instant of the range and the position of the log, both as of the first page; the negated
 * instant and the id of the last key. Instants in ms.
 */
type Place = readonly [to: number, upTo: number, newest: number, id: string];
const PLACE: Place = [0, 0, 0, ''];

const foundIn = (rows: readonly ListedRow[]) => rows.filter((row) => row.id !== null);

/** Reads a page. It ends at its limit, at the bytes an answer may have, or after so many keys that are not shown. */
export const readPage = async (
  selection: Selection,
  page: PageRequest,
  send: Send,
  isReplica = false,
): Promise<ReadPage> => {
  const { limit } = page;
  const listed = await send<ListedRow>(listPage(selection, { ...page, limit: limit + 1 }));
  const rows = foundIn(listed).slice(0, limit);
  const found = foundIn(listed)[0]?.found ?? 0;
  // A page goes on where the one before ended.
  requireReached(isReplica, listed[0]!.upTo, page.upTo);
  const { asOf, upTo } = listed[0]!;
  const moment = { ...momentOf({ asOf, position: upTo }), upTo: page.upTo ?? upTo ?? 0 };
  const last = rows.at(-1);
  const end = last && found > rows.length ? ([last.newest, last.id] as const) : (listed[0]!.lastExamined ?? undefined);
  return { rows, end, ...moment };
};

@QueryHandler(ListRecords)
export class ListRecordsHandler implements IQueryHandler<ListRecords> {
  constructor(
    private readonly queries: RecordQueries,
    private readonly log: EventLog,
  ) {}

  /**
   * @throws as `RecordQueries.run`
   * @throws Invalid if the cursor is of another selection
   * @throws Forbidden if the organization may not see brands, NotFound if it has no such brand
   */
  async execute({ selection: asked, limit, cursor, minPosition }: ListRecords): Promise<AsOf<Page>> {
    const { organization, brand } = asked;
    const cursors = new PageCursors(await this.log.id(), 'records', NO_CURSOR);
    const place = cursor === undefined ? undefined : cursors.read(asked, cursor, PLACE);
    const question = JSON.stringify([asked, limit, cursor, minPosition]);
    const read: AnswerFrom<AsOf<Page>> = async (send, pool, isReplica) => {
      if (brand !== undefined) await checkBrand(pool, organization, brand);
      const range = place ? { from: asked.range.from, to: place[0] } : rangeAt(asked.range, Date.now());
      const selection = { ...asked, range };
      const [, knownUpTo, ...after] = place ?? ([range.to, null, -range.to, ''] as const);
      const page = { after, upTo: knownUpTo, limit };
      const { rows, end, asOf, position, upTo } = await readPage(selection, page, send, isReplica);
      const nextCursor = end && cursors.write(asked, [range.to, upTo, ...end]);
      return { answer: { rows, nextCursor }, asOf, position };
    };
    return this.queries.run(organization, question, read, minPosition);
  }
}
