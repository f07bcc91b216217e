import type { Readable } from 'node:stream';
import { Controller, Get, Param, Query, Res, type Type } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { formatInstant } from '../events/instant.js';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import { preferredType } from '../http/accept.js';
import { CSV } from '../http/answers/csv.js';
import { JSON_TYPE, sendCounted } from '../http/answers/send-counted.js';
import { MinPosition } from '../http/consistency/consistency.js';
import { ConsistencyTokens } from '../http/consistency/consistency-token.js';
import type { ListedKind } from '../events/kinds.js';
import { ApiRecord, ApiRecordList, ApiRecordTable } from './api-record-list.js';
import { ExportRecords } from './export-records.js';
import { GetRecord } from './get-record.js';
import { ListRecords } from './list-records.js';
import { DEFAULT_LIMIT, RecordsRequest, SelectionRequest } from './records.dto.js';
import { type AskedSelection, readSelection } from './selection.js';

/** `checkBrand` reads the brands. */
const READS = ['records', 'brands-and-flags'] as const;

/** What the reference says of the records of a kind. */
interface Described {
  /** An example of an id. */
  readonly id: string;
  /** What of the list the metrics count. */
  readonly list: string;
  readonly one: string;
}

/** The routes of a kind of records: a list by pages, the list as a table, and one record. */
const controllerOf = (kind: ListedKind, { id: example, list, one }: Described): Type => {
  @ApiTags('Records')
  @Controller('v2/organization')
  class RecordsController {
    constructor(
      private readonly queries: QueryBus,
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
      const { answer, ...moment } = await this.queries.execute(query);
      const items = `[${answer.rows.map(({ item }) => item).join(',')}]`;
      const next = answer.nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(answer.nextCursor)}`;
      // A cursor says what time it was; it is not what the page holds.
      const content = `${items}${next === '' ? '' : ','}`;
      return sendCounted(
        { type: JSON_TYPE, text: `{"items":${items}${next}}`, content, ...moment },
        this.tokens,
        reply,
      );
    }

    // An operation of its own, because generated clients know one type for an answer.
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
      const { answer, ...moment } = await this.queries.execute(query);
      return sendCounted({ type: JSON_TYPE, text: answer, ...moment }, this.tokens, reply);
    }

    private async sendTable(selection: AskedSelection, reply: FastifyReply): Promise<Readable> {
      const { answer: table, asOf, position } = await this.queries.execute(new ExportRecords(selection));
      await this.tokens.add(reply, position);
      void reply.header('x-as-of', formatInstant(asOf)).type(CSV);
      return table;
    }
  }
  return RecordsController;
};

export const RECORDS_CONTROLLERS = [
  controllerOf('report', {
    id: 'report-1',
    list: 'The reports that the metrics count as `reports`.',
    one: 'A report as upstream’s newest state of it says.',
  }),
  controllerOf('threat', {
    id: 'threat-1',
    list:
      'The metrics count those of status BLOCKED, APPROVED and AUTO_APPROVED as `newThreats`, WATCHLISTED as ' +
      '`threatsWatchlisted`.',
    one: 'A threat as upstream’s newest state of it says.',
  }),
  controllerOf('takedown', {
    id: 'takedown-1',
    list:
      'The metrics count all as `takedownsFiled`, COMPLETED as `takedownsCompleted`. With a `brandSlug` they are listed ' +
      'by `updatedAt`, as the metrics of a brand count them.',
    one:
      'A takedown as upstream’s newest state of it says. One whose id is `statistics` cannot be asked for here, because ' +
      'that address is of the statistics. Lists, tables and the feed have it.',
  }),
  controllerOf('verdict', {
    id: 'change-1',
    list:
      'Entries of the asset status history that concern a brand of the organization. The metrics of a brand count ' +
      'those of status BLOCKED as `newThreats`.',
    one: 'A verdict with the organization’s own brands alone, whoever else it concerns.',
  }),
];
