import type { Readable } from 'node:stream';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { TimeSlices, type Work } from '../flow/time-slices.js';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import { preferredType } from '../http/accept.js';
import { JSON_TYPE, sendCounted } from '../http/answers/send-counted.js';
import type { ListedKind } from '../read-models/listed-kind.js';
import { ApiRecord, ApiRecordList } from './api-record-list.js';
import { GetRecord } from './get-record.js';
import { itemJson } from './item.js';
import { ListRecords, type Page } from './list-records.js';
import {
  DEFAULT_LIMIT,
  RecordsRequest,
  ReportItem,
  ReportPage,
  TakedownItem,
  TakedownPage,
  ThreatItem,
  ThreatPage,
  VerdictItem,
  VerdictPage,
} from './records.dto.js';
import { readSelection } from './selection.js';
import { sendTable } from './tables.controller.js';

type Answer = Promise<string | Readable | undefined>;

/** The items as JSON, one at a time. */
function* itemsJson(kind: ListedKind, { rows }: Page): Work<string> {
  const items: string[] = [];
  for (const row of rows) {
    items.push(itemJson(kind, row));
    yield;
  }
  return `[${items.join(',')}]`;
}

@ApiTags('Records')
@Controller('v2/organization')
export class RecordsController {
  constructor(
    private readonly queries: QueryBus,
    private readonly slices: TimeSlices,
  ) {}

  @Get('reports')
  @Access({ scope: 'read' })
  @ApiRecordList('report', ReportPage, 'The reports that the metrics count as `reports`.')
  listReports(
    @Organization() organization: string,
    @Query() query: RecordsRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Answer {
    return this.list('report', organization, query, reply);
  }

  @Get('threats')
  @Access({ scope: 'read' })
  @ApiRecordList(
    'threat',
    ThreatPage,
    'The metrics count those of status BLOCKED, APPROVED and AUTO_APPROVED as `newThreats`, WATCHLISTED as ' +
      '`threatsWatchlisted`.',
  )
  listThreats(
    @Organization() organization: string,
    @Query() query: RecordsRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Answer {
    return this.list('threat', organization, query, reply);
  }

  @Get('takedowns')
  @Access({ scope: 'read' })
  @ApiRecordList(
    'takedown',
    TakedownPage,
    'The metrics count all as `takedownsFiled`, COMPLETED as `takedownsCompleted`. With a `brandSlug` they are listed ' +
      'by `updatedAt`, as the metrics of a brand count them.',
  )
  listTakedowns(
    @Organization() organization: string,
    @Query() query: RecordsRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Answer {
    return this.list('takedown', organization, query, reply);
  }

  @Get('verdicts')
  @Access({ scope: 'read' })
  @ApiRecordList(
    'verdict',
    VerdictPage,
    'Entries of the asset status history that concern a brand of the organization. The metrics of a brand count ' +
      'those of status BLOCKED as `newThreats`.',
  )
  listVerdicts(
    @Organization() organization: string,
    @Query() query: RecordsRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Answer {
    return this.list('verdict', organization, query, reply);
  }

  @Get('reports/:id')
  @Access({ scope: 'read' })
  @ApiRecord('report', ReportItem, 'report-1', 'A report as upstream’s newest state of it says.')
  getReport(
    @Organization() organization: string,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Answer {
    return this.get('report', organization, id, reply);
  }

  @Get('threats/:id')
  @Access({ scope: 'read' })
  @ApiRecord('threat', ThreatItem, 'threat-1', 'A threat as upstream’s newest state of it says.')
  getThreat(
    @Organization() organization: string,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Answer {
    return this.get('threat', organization, id, reply);
  }

  @Get('takedowns/:id')
  @Access({ scope: 'read' })
  @ApiRecord(
    'takedown',
    TakedownItem,
    'takedown-1',
    'A takedown as upstream’s newest state of it says. One whose id is `statistics` cannot be asked for here, because that address is of the statistics. Lists, ' +
      'tables and the feed have it.',
  )
  getTakedown(
    @Organization() organization: string,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Answer {
    return this.get('takedown', organization, id, reply);
  }

  @Get('verdicts/:id')
  @Access({ scope: 'read' })
  @ApiRecord(
    'verdict',
    VerdictItem,
    'change-1',
    'A verdict with the organization’s own brands alone, whoever else it concerns.',
  )
  getVerdict(
    @Organization() organization: string,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Answer {
    return this.get('verdict', organization, id, reply);
  }

  private async list(
    kind: ListedKind,
    organization: string,
    { limit, cursor, ...parameters }: RecordsRequest,
    reply: FastifyReply,
  ): Answer {
    const selection = readSelection(kind, organization, parameters);
    void reply.header('vary', 'X-API-KEY, Accept');
    if (preferredType(reply.request.headers.accept, ['application/json', 'text/csv']) === 'text/csv')
      return sendTable(this.queries, selection, reply);
    const query = new ListRecords(selection, Number(limit ?? DEFAULT_LIMIT), cursor);
    const { answer, asOf } = await this.queries.execute(query);
    const items = await this.slices.run(organization, itemsJson(kind, answer));
    const next = answer.nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(answer.nextCursor)}`;
    // A cursor says what time it was; it is not what the page holds.
    const content = `${items}${next === '' ? '' : ','}`;
    return sendCounted({ type: JSON_TYPE, text: `{"items":${items}${next}}`, content, asOf }, reply);
  }

  private async get(
    kind: ListedKind,
    organization: string,
    id: string,
    reply: FastifyReply,
  ): Promise<string | undefined> {
    const { answer, asOf } = await this.queries.execute(new GetRecord(organization, kind, id));
    return sendCounted({ type: JSON_TYPE, text: itemJson(kind, answer), asOf }, reply);
  }
}
