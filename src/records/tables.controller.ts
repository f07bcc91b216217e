import type { Readable } from 'node:stream';
import { Controller, Get, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { formatInstant } from '../events/instant.js';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import { CSV } from '../http/answers/csv.js';
import { ApiRecordTable } from './api-record-list.js';
import { ExportRecords } from './export-records.js';
import { SelectionRequest } from './records.dto.js';
import { type AskedSelection, readSelection } from './selection.js';

/** Answers with all records of a selection as a table. */
export const sendTable = async (
  queries: QueryBus,
  selection: AskedSelection,
  reply: FastifyReply,
): Promise<Readable> => {
  const { answer: table, asOf } = await queries.execute(new ExportRecords(selection));
  void reply.header('x-as-of', formatInstant(asOf)).type(CSV);
  return table;
};

/** The tables as operations of their own, because generated clients know one type for an answer. */
@ApiTags('Records')
@Controller('v2/organization')
export class TablesController {
  constructor(private readonly queries: QueryBus) {}

  @Get('reports.csv')
  @Access({ scope: 'read' })
  @ApiRecordTable('report')
  getReportTable(
    @Organization() organization: string,
    @Query() query: SelectionRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readable> {
    return sendTable(this.queries, readSelection('report', organization, query), reply);
  }

  @Get('threats.csv')
  @Access({ scope: 'read' })
  @ApiRecordTable('threat')
  getThreatTable(
    @Organization() organization: string,
    @Query() query: SelectionRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readable> {
    return sendTable(this.queries, readSelection('threat', organization, query), reply);
  }

  @Get('takedowns.csv')
  @Access({ scope: 'read' })
  @ApiRecordTable('takedown')
  getTakedownTable(
    @Organization() organization: string,
    @Query() query: SelectionRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readable> {
    return sendTable(this.queries, readSelection('takedown', organization, query), reply);
  }

  @Get('verdicts.csv')
  @Access({ scope: 'read' })
  @ApiRecordTable('verdict')
  getVerdictTable(
    @Organization() organization: string,
    @Query() query: SelectionRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readable> {
    return sendTable(this.queries, readSelection('verdict', organization, query), reply);
  }
}
