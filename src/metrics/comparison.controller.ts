import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiNotFoundResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import { ErrorBody } from '../http/errors/error-body.dto.js';
import { ApiCounted } from './api-counted.js';
import { CompareMetrics } from './compare-metrics.js';
import { Comparison, ComparisonRequest } from './comparison.dto.js';
import { readRange } from './range.js';
import { JSON_TYPE, sendCounted } from './send-counted.js';

@ApiTags('Metrics')
@Controller('v2/organization/metrics/comparison')
export class ComparisonController {
  constructor(private readonly queries: QueryBus) {}

  @Get()
  @Access({ scope: 'read' })
  @ApiOperation({
    summary: 'The metrics of a window compared with those of an earlier one',
    description: 'Both are of one snapshot and exact to the millisecond; with difference and ratio per metric.',
  })
  @ApiCounted(Comparison)
  @ApiNotFoundResponse({ description: 'The organization has no such brand.', type: ErrorBody })
  async compareMetrics(
    @Organization() organization: string,
    @Query() { startDate, endDate, brandSlug, with: earlier = 'previous' }: ComparisonRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string | undefined> {
    const query = new CompareMetrics(organization, readRange(startDate, endDate), brandSlug, earlier);
    const { comparison, asOf, clock } = await this.queries.execute(query);
    return sendCounted({ type: JSON_TYPE, text: JSON.stringify(comparison), asOf, clock }, request, reply);
  }
}
