import { Controller, Get, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import {
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  ApiUnprocessableEntityResponse,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { formatInstant } from '../events/instant.js';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import { ErrorBody } from '../http/errors/error-body.dto.js';
import { MAX_DAYS, MAX_TYPES } from './count-sql.js';
import { GetMetrics } from './get-metrics.js';
import { Metrics, MetricsRequest } from './metrics.dto.js';
import { readRange } from './range.js';

@ApiTags('Metrics')
@Controller('v2/organization/metrics')
export class MetricsController {
  constructor(private readonly queries: QueryBus) {}

  @Get()
  @Access({ scope: 'read' })
  @ApiOperation({
    summary: 'Reports, blocked threats, watchlist and takedowns of the organization or one of its brands',
  })
  @ApiOkResponse({
    type: Metrics,
    headers: {
      'X-As-Of': {
        description: 'Everything answered at the door before this instant (ISO 8601, UTC) is counted.',
        schema: { type: 'string', format: 'date-time' },
      },
    },
  })
  @ApiNotFoundResponse({ description: 'The organization has no such brand.', type: ErrorBody })
  @ApiUnprocessableEntityResponse({
    description: `The range has more than ${MAX_DAYS} days or ${MAX_TYPES} asset types with a blocked threat.`,
    type: ErrorBody,
  })
  async getMetrics(
    @Organization() organization: string,
    @Query() request: MetricsRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Metrics> {
    const range = readRange(request.startDate, request.endDate);
    const { metrics, asOf } = await this.queries.execute(new GetMetrics(organization, range, request.brandSlug));
    reply.header('X-As-Of', formatInstant(asOf));
    return metrics;
  }
}
