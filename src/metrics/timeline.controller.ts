import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiNotFoundResponse, ApiOperation, ApiTags, ApiUnprocessableEntityResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TimeSlices } from '../cooperative/time-slices.js';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import { preferredType } from '../http/accept.js';
import { ErrorBody } from '../http/errors/error-body.dto.js';
import { ApiCounted } from './api-counted.js';
import { CSV } from './csv.js';
import { GetTimeline } from './get-timeline.js';
import { readRange } from './range.js';
import { JSON_TYPE, sendCounted } from './send-counted.js';
import { timelineJson } from './timeline-json.js';
import { timelineCsv } from './timeline-csv.js';
import { MAX_CELLS, MAX_POINTS } from './timeline-sql.js';
import { Timeline, TimelineRequest } from './timeline.dto.js';

const CSV_EXAMPLE =
  'start,end,reports,newThreats,threatsWatchlisted,takedownsFiled,takedownsCompleted,byType.TWITTER,byType.URL\r\n' +
  '2026-01-05T00:00:00.000Z,2026-01-11T23:59:59.999Z,57,1204,31,112,98,104,1100\r\n';

@ApiTags('Metrics')
@Controller('v2/organization/metrics/timeline')
export class TimelineController {
  constructor(
    private readonly queries: QueryBus,
    private readonly slices: TimeSlices,
  ) {}

  @Get()
  @Access({ scope: 'read' })
  @ApiOperation({
    summary: 'The metrics by day, week, month, quarter or year',
    description:
      `The points add up to the metrics of the same range. At most ${MAX_POINTS} of them, otherwise 400. With ` +
      '`Accept: text/csv` the answer is a table (RFC 4180): a line per point, and a column `byType.TYPE` per ' +
      'asset type with a blocked threat.',
  })
  @ApiCounted(Timeline, { 'text/csv': CSV_EXAMPLE })
  @ApiNotFoundResponse({ description: 'The organization has no such brand.', type: ErrorBody })
  @ApiUnprocessableEntityResponse({
    description: `The points have more than ${MAX_CELLS} counts by type in total.`,
    type: ErrorBody,
  })
  async getTimeline(
    @Organization() organization: string,
    @Query() { startDate, endDate, brandSlug, interval = 'day' }: TimelineRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string | undefined> {
    const query = new GetTimeline(organization, readRange(startDate, endDate), brandSlug, interval);
    const { timeline, asOf, clock } = await this.queries.execute(query);
    void reply.header('vary', 'X-API-KEY, Accept');
    const isCsv = preferredType(request.headers.accept, ['application/json', 'text/csv']) === 'text/csv';
    const text = await this.slices.run(organization, isCsv ? timelineCsv(timeline) : timelineJson(timeline));
    return sendCounted({ type: isCsv ? CSV : JSON_TYPE, text, asOf, clock }, request, reply);
  }
}
