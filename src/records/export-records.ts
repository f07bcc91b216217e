import { Readable } from 'node:stream';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import type { QueryConfig, QueryResultRow } from 'pg';
import { fieldsOf, KIND_NAMES, type ListedKind, kindOf } from '../events/listed-items.js';
import { csvLine, type AsOf } from '../http/responses/send-snapshot.js';
import { TooManyRequests, Unavailable, Unprocessable } from '../errors.js';
import { TimeSlices } from '../flow/turns.js';
import { checkBrand } from '../http/access/access.js';
import { rangeAt } from '../http/parameters.js';
import { DatabaseClock } from '../postgres/clock.js';
import { asUnavailable } from '../postgres/transient-errors.js';
import { ExportPool, EXPORT_APPLICATION_NAME, EXPORT_READ_TIMEOUT_MS } from '../read-models/pools.js';
import { InitialBackfill, type Send, type ItemRow } from './record-queries.js';
import { readPage } from './list-records.js';
import type { RequestedSelection, Selection } from './selection.js';
import { type Counted, countUpTo, withBranches } from './page-sql.js';
import { limit } from '../limits.js';

/** The path of a column: the name of a field, or of a field and its property. */
type Path = readonly string[];

const COLUMNS: ReadonlyMap<ListedKind, readonly Path[]> = new Map(
  KIND_NAMES.map((kind) => [
    kind,
    Object.entries(fieldsOf(kind)).flatMap(([name, { properties }]) =>
      properties === undefined ? [[name]] : Object.keys(properties as object).map((property) => [name, property]),
    ),
  ]),
);

const cellOf = (item: unknown, path: Path): string => {
  const value = path.reduce((within, name) => (within as Readonly<Record<string, unknown>>)[name], item);
  if (Array.isArray(value))
    return value.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join(' ');
  return (value as string | undefined) ?? '';
};

export const headerOf = (kind: ListedKind): string => csvLine(COLUMNS.get(kind)!.map((path) => path.join('.')));

/** @param item the parsed JSON of the item */
export const lineOf = (kind: ListedKind, item: unknown): string =>
  csvLine(COLUMNS.get(kind)!.map((path) => cellOf(item, path)));

/** Exports all records of a selection as CSV, from one snapshot. */
export class ExportRecords extends Query<AsOf<Readable>> {
  constructor(readonly selection: RequestedSelection) {
    super();
  }
}

export const MAX_ROWS = limit('CSV export', 1_000_000, 'rows', 'request', '422');
const PAGE_SIZE = 1_000;
/** Maximum number of concurrent exports in this process. */
limit('CSV exports', 1, 'exports', 'organization', '429');
const MAX_CONCURRENT_EXPORTS = limit('CSV exports', 4, 'exports', 'process', '503');
const EXPORT_TIMEOUT_MS = limit('CSV export', 600_000, 'ms', 'request', 'connection reset');

@QueryHandler(ExportRecords)
export class ExportRecordsHandler implements IQueryHandler<ExportRecords> {
  readonly maxRows = MAX_ROWS;
  /** The export is aborted if the client reads nothing for this long. */
  readonly readTimeoutMs = EXPORT_READ_TIMEOUT_MS;
  /** Organizations with an export in progress. */
  private readonly exporting = new Set<string>();

  constructor(
    private readonly pool: ExportPool,
    private readonly backfill: InitialBackfill,
    private readonly slices: TimeSlices,
    private readonly clock: DatabaseClock = new DatabaseClock(),
  ) {}

  /**
   * @throws Unprocessable if the selection has more rows than an export may have
   * @throws Forbidden if the organization may not see brands, NotFound if it has no such brand
   * @throws TooManyRequests if an export of the organization is in progress, Unavailable if too many exports are in
   *   progress
   * @throws Unavailable if the database is unavailable, or the initial backfill is not complete
   */
  async execute({ selection: requested }: ExportRecords): Promise<AsOf<Readable>> {
    await this.backfill.requireComplete();
    const { organization } = requested;
    if (this.exporting.has(organization))
      throw new TooManyRequests(5, 'A CSV export of this organization is running; retry when it has finished');
    if (this.exporting.size >= MAX_CONCURRENT_EXPORTS)
      throw new Unavailable('Too many CSV exports are running; try again', 5);
    this.exporting.add(organization);
    const release = (): void => void this.exporting.delete(organization);
    try {
      return await this.open(requested, release);
    } catch (error) {
      release();
      throw asUnavailable(error);
    }
  }

  /** @param release called once when the export has finished or failed */
  private async open(requested: RequestedSelection, release: () => void): Promise<AsOf<Readable>> {
    const selection = { ...requested, range: rangeAt(requested.range, this.clock.now()) };
    const { organization, brand } = selection;
    const connection = await this.pool.connect();
    // All pages are read in one transaction. Closing the connection also ends the transaction.
    const close = (): void => connection.release(true);
    const send: Send = async <Row extends QueryResultRow>(statement: QueryConfig) =>
      (await connection.query(statement)).rows as Row[];
    try {
      await connection.query(
        `begin transaction isolation level repeatable read, read only; set local application_name = '${EXPORT_APPLICATION_NAME}'`,
      );
      if (brand !== undefined) await checkBrand(connection, organization, brand);
      const after = [-selection.range.to, ''] as const;
      const [counted] = await withBranches(selection, (branches) =>
        send<Counted>(countUpTo(selection, { after, upTo: null, limit: this.maxRows + 1 }, branches)),
      );
      if (counted!.n > this.maxRows)
        throw new Unprocessable(
          `A table has at most ${this.maxRows} rows; narrow the range or the filters, or use the feed to get all records`,
        );
      const first = await readPage(selection, { after, upTo: null, limit: PAGE_SIZE }, send);
      // Destroy the socket: a clean end without Content-Length would look complete.
      const abort = (): void => void table.destroy(new Error('The client reads the export too slowly'));
      const table = Readable.from(this.csvChunks(selection, first, send, abort), { objectMode: false });
      const timer = setTimeout(abort, EXPORT_TIMEOUT_MS).unref();
      table.once('close', () => {
        clearTimeout(timer);
        close();
        release();
      });
      return { result: table, asOf: first.asOf, position: first.position };
    } catch (error) {
      close();
      throw error;
    }
  }

  private async *csvChunks(
    selection: Selection,
    first: Awaited<ReturnType<typeof readPage>>,
    send: Send,
    abort: () => void,
  ): AsyncGenerator<string> {
    const kind = kindOf(selection.kind);
    yield headerOf(kind);
    for (let page = first; ;) {
      const text = await this.slices.run(selection.organization, linesOf(kind, page.rows));
      const timer = setTimeout(abort, this.readTimeoutMs).unref();
      // `yield` returns when the client has read enough of the text.
      if (text !== '') yield text;
      clearTimeout(timer);
      if (page.endKey === undefined) return;
      page = await readPage(selection, { after: page.endKey, upTo: null, limit: PAGE_SIZE }, send);
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
