import { Controller, Get, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Invalid, Unprocessable } from '../../errors.js';
import { EventLog } from '../../event-log/event-log.js';
import { TimeSlices, type Work } from '../../flow/turns.js';
import { Access } from '../../http/access/access.js';
import { Organization } from '../../http/access/caller.js';
import { ConsistencyTokens, MinPosition } from '../../http/consistency.js';
import { ApiFailure } from '../../http/errors/error-body.dto.js';
import { readInstant, readRange } from '../../http/parameters.js';
import { preferredType } from '../../http/responses/accept.js';
import { INVALID_CURSOR, PageCursors } from '../../http/responses/page-cursor.js';
import {
  ApiSnapshot,
  type AsOf,
  CSV,
  csvLine,
  entityTag,
  JSON_TYPE,
  PAST_HEADERS,
  sendSnapshot,
  sharedText,
  type TaggedText,
} from '../../http/responses/send-snapshot.js';
import { limit as declareLimit } from '../../limits.js';
import { MAX_DAYS, MAX_TYPES } from '../count-sql.js';
import { GetRestatement, ListRestatedRecords, type RestatedPage, type RestatementQuery } from './get-restatement.js';
import { KnownMoments } from '../known-moments.js';
import {
  type CountedAs,
  DEFAULT_RESTATED,
  type RestatedRecord,
  RestatedRecords,
  RestatedRecordsRequest,
  Restatement,
  RestatementRequest,
} from './restatement.dto.js';
import type { Moment } from '../past-sql.js';

const READS = ['metrics', 'brands-and-flags'] as const;
/** The list shows assets as the lists do. */
const RECORDS_READ = [...READS, 'register'] as const;
const MAX_ROWS = declareLimit('restated records in a table', 10_000, 'rows', 'request', '422');
const MIB = 1024 * 1024;
const MAX_TABLE_BYTES = declareLimit('contents in a table of restated records', 4 * MIB, 'bytes', 'request', '422');
const MAX_PAGE_BYTES = declareLimit(
  'contents on a page of restated records',
  MIB,
  'bytes',
  'request',
  'the page is shorter',
);

/** The content of a cursor: the later state, and the position of the last record. */
type CursorPosition = readonly [to: number, toInstant: number, before: number];
const CURSOR_SHAPE: CursorPosition = [0, 0, 0];

const HEADER = ['kind', 'id', 'asset.type', 'asset.content', 'cause', 'late', 'changedAt', 'then', 'now'];
const countedAs = (counted: readonly CountedAs[]): string =>
  counted.map(({ metric, type, at }) => [metric, ...(type === null ? [] : [type]), at].join(' ')).join('; ');
const lineOf = ({ kind, id, asset, cause, late, changedAt, then, now }: RestatedRecord): string =>
  csvLine([
    kind,
    id,
    asset?.type ?? '',
    asset?.content ?? '',
    cause,
    `${late}`,
    changedAt,
    countedAs(then),
    countedAs(now),
  ]);
/** Writes each record of a page. Yields after each record, so that other requests may run. */
function* writeEach({ records }: RestatedPage, write: (record: RestatedRecord) => string): Work<string[]> {
  const texts: string[] = [];
  for (const record of records()) {
    texts.push(write(record));
    yield;
  }
  return texts;
}

const CSV_EXAMPLE =
  csvLine(HEADER) +
  lineOf({
    kind: 'report',
    id: 'report-2041',
    cause: 'new',
    late: true,
    changedAt: '2026-03-02T08:00:00.000Z',
    then: [],
    now: [{ metric: 'reports', type: null, at: '2026-02-14T09:30:00.000Z' }],
  });

const NOT_IN_ORDER = 'from must not be after to';

type Change = Pick<RestatementQuery, 'range' | 'from' | 'known'>;

/** Instants are compared as such, because nothing may have been stored between them. @throws Invalid */
const requireOrder = ({ from, to }: RestatementRequest): void => {
  const [first, last] = [readInstant(from), readInstant(to ?? '')];
  if (first !== undefined && last !== undefined && first > last) throw new Invalid(NOT_IN_ORDER);
};

/** Waits for both. @throws Invalid, if both fail and one of them so: a malformed parameter is named before a lost state */
const invalidFirst = async <First, Second>(
  first: Promise<First>,
  second: Second | Promise<Second>,
): Promise<readonly [First, Second]> => {
  const results = await Promise.allSettled([first, second]);
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  if (errors.length > 0) throw errors.find((error) => error instanceof Invalid) ?? errors[0];
  return [await first, await second];
};

@ApiTags('Metrics')
@Controller('v2/organization/metrics')
export class RestatementController {
  constructor(
    private readonly queries: QueryBus,
    private readonly slices: TimeSlices,
    private readonly tokens: ConsistencyTokens,
    private readonly moments: KnownMoments,
    private readonly log: EventLog,
  ) {}

  @Get('restatement')
  @Access({ scope: 'read', reads: READS })
  @ApiOperation({
    summary: 'Compare the metrics of a range as known then and now',
    description:
      'Explains why a number differs from the one that was reported earlier: the metrics of one range according to two states ' +
      'of the service, their difference, and what was stored late or corrected between them. The header `Known-At` names the ' +
      'later state.',
  })
  @ApiSnapshot(Restatement, {}, 'brand', PAST_HEADERS)
  @ApiFailure(422, `The range has more than ${MAX_DAYS} days or ${MAX_TYPES} asset types with a blocked threat.`)
  async getRestatement(
    @Organization() organization: string,
    @Query() request: RestatementRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<string | undefined> {
    const change = await this.readChange(request, READS, reply);
    const query = new GetRestatement({ organization, brand: request.brandSlug, minPosition, ...change });
    return this.send(organization, await this.queries.execute(query), JSON_TYPE, reply, (result) =>
      JSON.stringify(result),
    );
  }

  @Get('restatement/records')
  @Access({ scope: 'read', reads: RECORDS_READ })
  @ApiOperation({
    summary: 'List the records that count otherwise now than then',
    description:
      'Lists the records behind a restatement, the one that changed last first. A record that has changed there and back is ' +
      'not listed. All pages are about the same later state. With `Accept: text/csv` the response is the table of ' +
      '`metrics/restatement/records.csv`.',
  })
  @ApiSnapshot(RestatedRecords, {}, 'brand', PAST_HEADERS)
  async listRestatedRecords(
    @Organization() organization: string,
    @Query() request: RestatedRecordsRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<string | undefined> {
    void reply.header('vary', 'X-API-KEY, Accept');
    if (preferredType(reply.request.headers.accept, ['application/json', 'text/csv']) === 'text/csv')
      return this.sendTable(organization, request, reply, minPosition);
    const { limit, cursor, ...parameters } = request;
    const cursors = new PageCursors(await this.log.id(), 'restated records', INVALID_CURSOR);
    const scope = { organization, ...parameters };
    const place = cursor === undefined ? undefined : cursors.read(scope, cursor, CURSOR_SHAPE);
    const to = place && { position: place[0], instant: place[1] };
    const page = { limit: Number(limit ?? DEFAULT_RESTATED), maxBytes: MAX_PAGE_BYTES, before: place?.[2], to };
    const { snapshot, knownTo } = await this.readPage(organization, request, page, reply, minPosition);
    const { next } = snapshot.result;
    // Requests that share the page may have written their parameters otherwise, so that each has a cursor of its own.
    const position = next === undefined ? undefined : ([knownTo.position, knownTo.instant, next] as const);
    const end = position === undefined ? '}' : `,"nextCursor":${JSON.stringify(cursors.write(scope, position))}}`;
    const make = async (result: RestatedPage): Promise<TaggedText> => {
      const records = await this.slices.run(organization, writeEach(result, JSON.stringify));
      const text = `{"items":[${records.join(',')}]`;
      return { text, tag: entityTag(`${text}}${next ?? ''}`) };
    };
    return this.send(organization, snapshot, JSON_TYPE, reply, make, end);
  }

  @Get('restatement/records.csv')
  @Access({ scope: 'read', reads: RECORDS_READ })
  @ApiOperation({
    summary: 'Export the records that count otherwise now than then as a table',
    description:
      `The response is RFC 4180 CSV, with one line per record, at most ${MAX_ROWS} lines and contents of at most ` +
      `${MAX_TABLE_BYTES / MIB} MiB.`,
  })
  @ApiSnapshot(undefined, { 'text/csv': CSV_EXAMPLE }, 'brand', PAST_HEADERS)
  @ApiFailure(422, `The table would have more than ${MAX_ROWS} lines or ${MAX_TABLE_BYTES / MIB} MiB of contents.`)
  getRestatedRecordsTable(
    @Organization() organization: string,
    @Query() request: RestatementRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<string | undefined> {
    return this.sendTable(organization, request, reply, minPosition);
  }

  private async sendTable(
    organization: string,
    request: RestatementRequest,
    reply: FastifyReply,
    minPosition: number | undefined,
  ): Promise<string | undefined> {
    const page = { limit: MAX_ROWS, maxBytes: MAX_TABLE_BYTES, before: undefined, to: undefined };
    const { snapshot } = await this.readPage(organization, request, page, reply, minPosition);
    if (snapshot.result.next !== undefined)
      throw new Unprocessable(
        `A table has at most ${MAX_ROWS} rows and ${MAX_TABLE_BYTES / MIB} MiB of contents; request a shorter range, or pages of JSON`,
      );
    return this.send(organization, snapshot, CSV, reply, async (result) => {
      const lines = await this.slices.run(organization, writeEach(result, lineOf));
      return csvLine(HEADER) + lines.join('');
    });
  }

  /** @param end what the text of this request ends with */
  private async send<Result>(
    organization: string,
    snapshot: AsOf<Result>,
    type: string,
    reply: FastifyReply,
    make: Parameters<typeof sharedText<Result>>[2],
    end = '',
  ): Promise<string | undefined> {
    const { text, tag } = await sharedText(snapshot, type, make);
    // Requests that share the result resume together, and writing each of their responses takes time.
    await this.slices.waitForTurn(organization);
    const { asOf, position, knownAt } = snapshot;
    return sendSnapshot({ type, text: text + end, tag, asOf, position, knownAt }, this.tokens, reply);
  }

  private async readPage(
    organization: string,
    request: RestatementRequest,
    page: Pick<ListRestatedRecords, 'limit' | 'maxBytes' | 'before'> & { readonly to: Moment | undefined },
    reply: FastifyReply,
    minPosition: number | undefined,
  ): Promise<{ readonly snapshot: AsOf<RestatedPage>; readonly knownTo: Moment }> {
    const change = await this.readChange(request, RECORDS_READ, reply, page.to);
    const { limit, maxBytes, before } = page;
    const query = { organization, brand: request.brandSlug, minPosition, limit, maxBytes, before, ...change };
    return { snapshot: await this.queries.execute(new ListRestatedRecords(query)), knownTo: change.known };
  }

  /**
   * @param knownTo the later state, if a cursor names it
   * @throws Invalid if `from` is after `to`
   */
  private async readChange(
    request: RestatementRequest,
    reads: typeof READS | typeof RECORDS_READ,
    reply: FastifyReply,
    knownTo?: Moment,
  ): Promise<Change> {
    const range = readRange(request.startDate, request.endDate);
    requireOrder(request);
    const ofCursor = knownTo && { name: 'cursor', position: BigInt(knownTo.position) };
    const [from, to] = await invalidFirst(
      this.moments.parse('from', request.from, reply),
      ofCursor ?? (request.to === undefined ? undefined : this.moments.parse('to', request.to, reply)),
    );
    const earlier = await this.moments.reach(from, reads, reply);
    const later = to === undefined ? await this.moments.present(reply) : await this.moments.reach(to, reads, reply);
    // The present is the time of the last event, and nothing may have been stored since `from`.
    const known = knownTo ?? { ...later, instant: Math.max(later.instant, earlier.instant) };
    if (earlier.position > known.position) throw new Invalid(NOT_IN_ORDER);
    return { range, from: earlier, known };
  }
}
