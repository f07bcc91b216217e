import { Readable } from 'node:stream';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { QueryConfig, QueryResultRow } from 'pg';
import { TooManyRequests, Unavailable, Unprocessable } from '../errors.js';
import { TimeSlices } from '../flow/time-slices.js';
import { checkBrand } from '../http/access/check-brand.js';
import { rangeAt } from '../http/range.js';
import type { AsOf } from '../http/answers/send-counted.js';
import { kindOf } from '../events/kinds.js';
import { asUnavailable } from '../postgres/transient-errors.js';
import { ExportPool, EXPORT_READ_TIMEOUT_MS } from '../read-models/pools.js';
import { FirstFill } from './first-fill.js';
import { readPage } from './list-records.js';
import type { Send } from './record-queries.js';
import { headerOf, lineOf } from './records-csv.js';
import type { AskedSelection, Selection } from './selection.js';
import { countUpTo } from './page/statements.js';
import type { ItemRow } from './statements.js';

/** All records of a selection as a table, from one moment. */
export class ExportRecords extends Query<AsOf<Readable>> {
  constructor(readonly selection: AskedSelection) {
    super();
  }
}

export const MAX_ROWS = 1_000_000;
const ROWS_A_PAGE = 1_000;
/** Exports under way at once, in this process. */
const MAX_AT_ONCE = 4;
/** How long an export may take. ms */
const MAX_MS = 600_000;

@QueryHandler(ExportRecords)
export class ExportRecordsHandler implements IQueryHandler<ExportRecords> {
  readonly maxRows = MAX_ROWS;
  /** How long a reader may leave a part of a table. ms */
  readonly patience = EXPORT_READ_TIMEOUT_MS;
  /** Organizations with an export under way. */
  private readonly exporting = new Set<string>();

  constructor(
    private readonly pool: ExportPool,
    private readonly fill: FirstFill,
    private readonly slices: TimeSlices,
  ) {}

  /**
   * @throws Unprocessable if there are more rows than a table may have
   * @throws Forbidden if the organization may not see brands, NotFound if it has no such brand
   * @throws TooManyRequests if the organization has an export under way, Unavailable if too many others have
   * @throws Unavailable if the database is unavailable, or the tables are not filled yet
   */
  async execute({ selection: asked }: ExportRecords): Promise<AsOf<Readable>> {
    await this.fill.done();
    const { organization } = asked;
    if (this.exporting.has(organization))
      throw new TooManyRequests(5, 'A CSV export of this organization is running; retry when it has finished');
    if (this.exporting.size >= MAX_AT_ONCE) throw new Unavailable('Too many CSV exports are running; try again', 5);
    this.exporting.add(organization);
    const free = (): void => void this.exporting.delete(organization);
    try {
      return await this.open(asked, free);
    } catch (error) {
      free();
      throw asUnavailable(error);
    }
  }

  /** @param free called once, when it has ended, however */
  private async open(asked: AskedSelection, free: () => void): Promise<AsOf<Readable>> {
    const selection = { ...asked, range: rangeAt(asked.range, Date.now()) };
    const { organization, brand } = selection;
    const connection = await this.pool.connect();
    // Every page is of the snapshot of the first statement. Closed, not given back: that ends its transaction too.
    const close = (): void => connection.release(true);
    const send: Send = async <Row extends QueryResultRow>(statement: QueryConfig) =>
      (await connection.query(statement)).rows as Row[];
    try {
      await connection.query('begin transaction isolation level repeatable read, read only');
      if (brand !== undefined) await checkBrand(connection, organization, brand);
      const after = [-selection.range.to, ''] as const;
      const counted = countUpTo(selection, { after, upTo: null, limit: this.maxRows + 1 });
      const [{ n }] = (await send<{ n: number }>(counted)) as [{ n: number }];
      if (n > this.maxRows)
        throw new Unprocessable(
          `A table has at most ${this.maxRows} rows; narrow the range or the filters, or use the feed to get all records`,
        );
      const first = await readPage(selection, { after, upTo: null, limit: ROWS_A_PAGE }, send);
      // Destroy the socket: a clean end without Content-Length would look complete.
      const cut = (): void => void table.destroy(new Error('The reader of a table is too slow'));
      const table = Readable.from(this.parts(selection, first, send, cut), { objectMode: false });
      const limit = setTimeout(cut, MAX_MS).unref();
      table.once('close', () => {
        clearTimeout(limit);
        close();
        free();
      });
      return { answer: table, asOf: first.asOf, position: first.position };
    } catch (error) {
      close();
      throw error;
    }
  }

  private async *parts(
    selection: Selection,
    first: Awaited<ReturnType<typeof readPage>>,
    send: Send,
    cut: () => void,
  ): AsyncGenerator<string> {
    const kind = kindOf(selection.kind);
    yield headerOf(kind);
    for (let page = first; ;) {
      const text = await this.slices.run(selection.organization, linesOf(kind, page.rows));
      const patience = setTimeout(cut, this.patience).unref();
      // Returns when the reader has taken enough of it.
      if (text !== '') yield text;
      clearTimeout(patience);
      if (page.end === undefined) return;
      page = await readPage(selection, { after: page.end, upTo: null, limit: ROWS_A_PAGE }, send);
    }
  }
}

function* linesOf(kind: ReturnType<typeof kindOf>, rows: readonly ItemRow[]): Generator<undefined, string, undefined> {
  const lines: string[] = [];
  for (const row of rows) {
    lines.push(lineOf(kind, JSON.parse(row.item)));
    yield;
  }
  return lines.join('');
}
