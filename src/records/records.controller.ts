import { QueryBus } from '@nestjs/cqrs';
import type { Readable } from 'node:stream';
import { applyDecorators, Controller, Get, Param, Query, Res, type Type } from '@nestjs/common';
import {
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
  ApiUnprocessableEntityResponse,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { GetVerdicts } from '../verdicts.js';
import { formatInstant } from '../events/instant.js';
import { TimeSlices } from '../flow/turns.js';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import { preferredType } from '../http/responses/accept.js';
import { ErrorBody } from '../http/errors/error-body.dto.js';
import {
  ApiSnapshot,
  AS_OF,
  CSV,
  entityTag,
  JSON_TYPE,
  sendSnapshot,
  sharedText,
} from '../http/responses/send-snapshot.js';
import { MinPosition, ConsistencyTokens } from '../http/consistency.js';
import { exampleItem, fieldsOf, isFilteredBy, type ListedKind } from '../events/listed-items.js';
import { ExportRecords, headerOf, lineOf, MAX_ROWS } from './export-records.js';
import { GetRecord, ListRecords } from './list-records.js';
import { DEFAULT_LIMIT, RecordsRequest, SelectionRequest } from './requests.dto.js';
import { type RequestedSelection, readSelection } from './selection.js';

/** Maximum number of contents that a request sends to sources of the kind `http`: as many as one of them gets at once. */
const MAX_LOOKUPS = 25;

/**
 * Adds `verdictNow` to the disputes whose verdict is no longer BLOCKED. Adds nothing while a source that gives no answer
 * could still decide, because the source may say BLOCKED.
 * @param items as JSON, at most 1,000
 */
const withPresentVerdicts = async (
  queries: QueryBus,
  organization: string,
  items: readonly string[],
  minPosition: number | undefined,
): Promise<readonly string[]> => {
  if (items.length === 0) return items;
  const disputes = items.map((item) => JSON.parse(item) as { readonly content: string });
  const contents = disputes.map(({ content }) => content);
  const verdicts = await queries.execute(new GetVerdicts(contents, organization, minPosition, MAX_LOOKUPS));
  return items.map((item, index) => {
    const { verdict: verdictNow, isSettled } = verdicts[index]!;
    return verdictNow.status === 'BLOCKED' || !isSettled ? item : JSON.stringify({ ...disputes[index], verdictNow });
  });
};

const MAX_ROWS_TEXT = MAX_ROWS.toLocaleString('en');

const capitalized = (kind: ListedKind): string => kind[0]!.toUpperCase() + kind.slice(1);

const brandFilterOf = (kind: ListedKind): string | null => (isFilteredBy(kind, 'brand') ? 'brand' : null);

const ApiTooManyRows = (): MethodDecorator =>
  ApiUnprocessableEntityResponse({
    description: `The table would have more than ${MAX_ROWS_TEXT} rows, or the records more than 256 combinations of status and type.`,
    type: ErrorBody,
  });

/**
 * Documents a list of records.
 * @param description a sentence that says which records of the list the metrics count
 */
const ApiRecordList = (kind: ListedKind, description: string): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: `list${capitalized(kind)}s`,
      summary: `List the ${kind}s of the organization`,
      description:
        `${description} The records are listed newest first, in pages. A record that does not change while the pages are ` +
        'read is on exactly one page; a record that changes in the meantime is on at most one page, and may be missing. ' +
        `With \`Accept: text/csv\` the response is the table of \`${kind}s.csv\`.`,
    }),
    ApiSnapshot(`${capitalized(kind)}Page`, {}, brandFilterOf(kind)),
    ApiTooManyRows(),
  );

/**
 * Documents a single record.
 * @param id an example of an id
 */
const ApiRecord = (kind: ListedKind, id: string, description: string): MethodDecorator =>
  applyDecorators(
    ApiOperation({ operationId: `get${capitalized(kind)}`, summary: `Get one ${kind}`, description }),
    ApiParam({
      name: 'id',
      description: String(fieldsOf(kind)['id']!['description']),
      schema: { type: 'string', example: id },
    }),
    ApiSnapshot(`${capitalized(kind)}Item`, {}, kind),
  );

/** Documents the CSV export of a list. */
const ApiRecordTable = (kind: ListedKind): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: `get${capitalized(kind)}Table`,
      summary: `Export the ${kind}s of the organization as a table`,
      description:
        `The response is RFC 4180 CSV with all selected records, newest first, at most ${MAX_ROWS_TEXT} rows. Each organization ` +
        'can request one table at a time. If a table cannot be completed, the connection is aborted, so that an ' +
        'incomplete table never looks complete.',
    }),
    ApiOkResponse({
      description: 'All data is from one snapshot.',
      headers: { 'X-As-Of': AS_OF },
      content: {
        'text/csv': { schema: { type: 'string' }, example: headerOf(kind) + lineOf(kind, exampleItem(kind)) },
      },
    }),
    ...(brandFilterOf(kind) === null
      ? []
      : [ApiNotFoundResponse({ description: 'The organization has no such brand.', type: ErrorBody })]),
    ApiTooManyRows(),
  );

/** The projections that these routes read; `checkBrand` reads the brands. */
const READS = ['register', 'brands-and-flags'] as const;

/** The texts for one kind of records in the API reference. */
interface Described {
  /** The path before the name of the kind. */
  readonly path: string;
  /** An example of an id. */
  readonly id: string;
  /** A sentence that says which records of the list the metrics count. */
  readonly list: string;
  readonly one: string;
}

/** Creates the routes of a kind of records: the list, its CSV export, and a single record. */
const controllerOf = (kind: ListedKind, { path, id: example, list, one }: Described): Type => {
  @ApiTags('Records')
  @Controller(path)
  class RecordsController {
    constructor(
      private readonly queries: QueryBus,
      private readonly slices: TimeSlices,
      private readonly tokens: ConsistencyTokens,
    ) {}

    @Get(`${kind}s`)
    @Access({ scope: 'read', reads: READS })
    @ApiRecordList(kind, list)
    async list(
      @Organization() organization: string,
      @Query() { limit, cursor, ...parameters }: RecordsRequest,
      @Res({ passthrough: true }) reply: FastifyReply,
      @MinPosition() minPosition?: number,
    ): Promise<string | Readable | undefined> {
      const selection = readSelection(kind, organization, parameters);
      void reply.header('vary', 'X-API-KEY, Accept');
      if (preferredType(reply.request.headers.accept, ['application/json', 'text/csv']) === 'text/csv')
        return this.sendTable(selection, reply);
      const query = new ListRecords(selection, Number(limit ?? DEFAULT_LIMIT), cursor, minPosition);
      const page = await this.queries.execute(query);
      const content = await sharedText(page, JSON_TYPE, async ({ rows, nextCursor, lastChange }) => {
        const shown = await this.shown(
          organization,
          rows.map(({ item }) => item),
          minPosition,
        );
        const items = `[${shown.join(',')}]`;
        const next = nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(nextCursor)}`;
        // A cursor differs in each response. The state that it continues does not, and a cached cursor must not outlive it.
        const tag = entityTag(`${items}${next === '' ? '' : `,${lastChange ?? ''}`}`);
        return { text: `{"items":${items}${next}}`, tag };
      });
      // Requests that share the page resume together, and sending each of their responses takes time.
      await this.slices.waitForTurn(organization);
      const { asOf, position } = page;
      return sendSnapshot({ type: JSON_TYPE, ...content, asOf, position }, this.tokens, reply);
    }

    // The CSV export is a separate operation, because generated clients support only one response type per operation.
    @Get(`${kind}s.csv`)
    @Access({ scope: 'read', reads: READS })
    @ApiRecordTable(kind)
    table(
      @Organization() organization: string,
      @Query() query: SelectionRequest,
      @Res({ passthrough: true }) reply: FastifyReply,
    ): Promise<Readable> {
      return this.sendTable(readSelection(kind, organization, query), reply);
    }

    @Get(`${kind}s/:id`)
    @Access({ scope: 'read', reads: READS })
    @ApiRecord(kind, example, one)
    async get(
      @Organization() organization: string,
      @Param('id') id: string,
      @Res({ passthrough: true }) reply: FastifyReply,
      @MinPosition() minPosition?: number,
    ): Promise<string | undefined> {
      const query = new GetRecord(organization, kind, id, minPosition);
      const { result, ...moment } = await this.queries.execute(query);
      const text = (await this.shown(organization, [result], minPosition))[0]!;
      return sendSnapshot({ type: JSON_TYPE, text, tag: entityTag(text), ...moment }, this.tokens, reply);
    }

    /** Adds what is computed when records are read. */
    private async shown(
      organization: string,
      items: readonly string[],
      minPosition: number | undefined,
    ): Promise<readonly string[]> {
      return kind === 'dispute' ? withPresentVerdicts(this.queries, organization, items, minPosition) : items;
    }

    private async sendTable(selection: RequestedSelection, reply: FastifyReply): Promise<Readable> {
      const { result: table, asOf, position } = await this.queries.execute(new ExportRecords(selection));
      await this.tokens.add(reply, position);
      // The key has been revoked meanwhile, and nobody reads the table.
      if (reply.sent) table.destroy();
      void reply.header('x-as-of', formatInstant(asOf)).type(CSV);
      return table;
    }
  }
  return RecordsController;
};

const OF_ORGANIZATION = 'v2/organization';

export const RECORDS_CONTROLLERS = [
  controllerOf('report', {
    path: OF_ORGANIZATION,
    id: 'report-2041',
    list: 'Lists the reports that the metrics count as `reports`.',
    one: 'Returns a report in the newest state that upstream has sent.',
  }),
  controllerOf('threat', {
    path: OF_ORGANIZATION,
    id: 'threat-5512',
    list:
      'The metrics count threats with the status BLOCKED, APPROVED or AUTO_APPROVED as `newThreats`, and threats with the ' +
      'status WATCHLISTED as `threatsWatchlisted`.',
    one: 'Returns a threat in the newest state that upstream has sent.',
  }),
  controllerOf('takedown', {
    path: OF_ORGANIZATION,
    id: 'takedown-310',
    list:
      'The metrics count all takedowns as `takedownsFiled`, and takedowns with the status COMPLETED as ' +
      '`takedownsCompleted`. If `brandSlug` is given, takedowns are listed by `updatedAt`, as in the metrics of a brand.',
    one:
      'Returns a takedown in the newest state that upstream has sent. A takedown with the id `statistics` cannot be ' +
      'requested here, because that path returns the takedown statistics. Lists, tables and the feed include that ' +
      'takedown.',
  }),
  controllerOf('verdict', {
    path: OF_ORGANIZATION,
    id: 'change-90210',
    list:
      'Lists the entries of the asset status history that concern a brand of the organization. The metrics of a brand ' +
      'count entries with the status BLOCKED as `newThreats`.',
    one: 'Returns a verdict. Of the brands that the verdict concerns, only the organization’s own are shown.',
  }),
  controllerOf('dispute', {
    path: 'v2/asset',
    id: 'dp_4a7d1ed414474e4033ac29cc',
    list:
      'Lists the disputes that the organization has filed. A dispute whose verdict is no longer BLOCKED has ' +
      '`verdictNow`.',
    one: 'Returns a dispute. If its verdict is no longer BLOCKED, the dispute has `verdictNow`.',
  }),
];
