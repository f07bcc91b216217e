import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiNotFoundResponse, ApiOperation, ApiTags, ApiUnprocessableEntityResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import { ErrorBody } from '../http/errors/error-body.dto.js';
import { ApiCounted } from './api-counted.js';
import { MAX_TYPES } from './count-sql.js';
import { GetTakedownStatistics } from './get-takedown-statistics.js';
import { MetricsRequest } from './metrics.dto.js';
import { readRange } from './range.js';
import { JSON_TYPE, sendCounted } from './send-counted.js';
import { TakedownStatistics } from './takedown-statistics.dto.js';

@ApiTags('Metrics')
@Controller('v2/organization/takedowns/statistics')
export class TakedownStatisticsController {
  constructor(private readonly queries: QueryBus) {}

  @Get()
  @Access({ scope: 'read' })
  @ApiOperation({
    summary: 'Outcomes of takedowns, and how long they took',
    description:
      'Outcomes are of the takedowns filed in the window (`takedownsFiled` in the metrics); times are of ' +
      'those completed in it.',
  })
  @ApiCounted(TakedownStatistics)
  @ApiNotFoundResponse({ description: 'The organization has no such brand.', type: ErrorBody })
  @ApiUnprocessableEntityResponse({
    description: `Takedowns of more than ${MAX_TYPES} asset types were completed in the range.`,
    type: ErrorBody,
  })
  async getTakedownStatistics(
    @Organization() organization: string,
    @Query() { startDate, endDate, brandSlug }: MetricsRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string | undefined> {
    const query = new GetTakedownStatistics(organization, readRange(startDate, endDate), brandSlug);
    const { statistics, asOf } = await this.queries.execute(query);
    return sendCounted({ type: JSON_TYPE, text: JSON.stringify(statistics), asOf }, request, reply);
  }
}
