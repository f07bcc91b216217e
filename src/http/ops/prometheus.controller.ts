import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { Registry } from 'prom-client';
import { Prometheus } from './prometheus.js';

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
