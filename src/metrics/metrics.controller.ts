import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiNotFoundResponse, ApiOperation, ApiTags, ApiUnprocessableEntityResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import { ErrorBody } from '../http/errors/error-body.dto.js';
import { ApiCounted } from './api-counted.js';
import { MAX_DAYS, MAX_TYPES } from './count-sql.js';
import { GetMetrics } from './get-metrics.js';
import { Metrics, MetricsRequest } from './metrics.dto.js';
import { readRange } from './range.js';
import { JSON_TYPE, sendCounted } from './send-counted.js';

@ApiTags('Metrics')
@Controller('v2/organization/metrics')
export class MetricsController {
  constructor(private readonly queries: QueryBus) {}

  @Get()
  @Access({ scope: 'read' })
  @ApiOperation({
    summary: 'Reports, blocked threats, watchlist and takedowns of the organization or one of its brands',
  })
  @ApiCounted(Metrics)
  @ApiNotFoundResponse({ description: 'The organization has no such brand.', type: ErrorBody })
  @ApiUnprocessableEntityResponse({
    description: `The range has more than ${MAX_DAYS} days or ${MAX_TYPES} asset types with a blocked threat.`,
    type: ErrorBody,
  })
  async getMetrics(
    @Organization() organization: string,
    @Query() { startDate, endDate, brandSlug }: MetricsRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string | undefined> {
    const query = new GetMetrics(organization, readRange(startDate, endDate), brandSlug);
    const { metrics, asOf } = await this.queries.execute(query);
    return sendCounted({ type: JSON_TYPE, text: JSON.stringify(metrics), asOf }, request, reply);
  }
}
