import { Controller, Get, Res, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiServiceUnavailableResponse, ApiTags, ApiProduces } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Registry } from 'prom-client';
import { Config } from '../../runtime/config.js';
import { EventLog } from '../../event-log/event-log.js';
import { registerStores, ProjectionLags } from '../../ops/projection-lag.js';
import { Health, Liveness } from './health.dto.js';
import { Readiness, type Report } from '../../ops/readiness.js';
import { Prometheus } from './prometheus.js';

/** Sets the status code of a report, so that a load balancer does not need the body. */
const withStatusCode = (report: Report, reply: FastifyReply): Report => {
  if (report.status === 'not-ready' || report.status === 'stopping') void reply.code(503).header('retry-after', '1');
  // The hook of every request has not set this header if the stop signal arrived after the request.
  if (report.status === 'stopping') void reply.header('connection', 'close');
  return report;
};

const withoutDetails = ({ status, parts }: Report): Report => ({
  status,
  parts: Object.fromEntries(Object.entries(parts).map(([part, { state }]) => [part, { state }])),
});

@Controller('health')
@ApiTags('Operations')
export class HealthController {
  constructor(
    private readonly readiness: Readiness,
    private readonly config: Config,
    log: EventLog,
    lags: ProjectionLags,
  ) {
    registerStores(readiness, log, lags);
  }

  @Get('live')
  @ApiOperation({
    summary: 'Check whether the process responds',
    description: 'Queries no database, so that a database outage does not restart processes.',
  })
  @ApiOkResponse({ type: Liveness, description: 'The process responds.' })
  getLiveness(): Liveness {
    return { status: 'live' };
  }

  @Get('ready')
  @ApiOperation({
    summary: 'Check whether the process should receive requests, and get the state of each part',
    description:
      'A load balancer needs only the status code. If `OPS_PORT` is set, details are served on that port only.',
  })
  @ApiOkResponse({
    type: Health,
    description: 'The process should receive requests. If the status is `degraded`, an operator should investigate.',
  })
  @ApiServiceUnavailableResponse({
    type: Health,
    description: 'A part is unavailable, or the process is stopping.',
    example: { status: 'not-ready', parts: { log: { state: 'unavailable' } } },
  })
  async getReadiness(@Res({ passthrough: true }) reply: FastifyReply): Promise<Health> {
    const report = await this.readiness.report();
    return withStatusCode(this.config.opsPort === undefined ? report : withoutDetails(report), reply);
  }
}

@Controller('metrics')
@ApiTags('Operations')
export class PrometheusController {
  constructor(private readonly prometheus: Prometheus) {}

  @Get()
  @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
  @ApiOperation({
    summary: 'Get metrics for Prometheus',
    description:
      'The metrics of this process, at most one second old. If `OPS_PORT` is set, metrics are served on that port only.',
  })
  @ApiProduces('text/plain')
  @ApiOkResponse({ schema: { type: 'string' }, description: 'The metrics in the Prometheus text format.' })
  getPrometheusMetrics(): Promise<string> {
    return this.prometheus.scrape();
  }
}
