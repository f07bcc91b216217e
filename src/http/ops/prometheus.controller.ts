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
    summary: 'Metrics for Prometheus',
    description: 'Of this process, up to a second old. With `OPS_PORT` they are served there alone.',
  })
  @ApiProduces('text/plain')
  @ApiOkResponse({ schema: { type: 'string' }, description: 'The Prometheus text format' })
  getPrometheusMetrics(): Promise<string> {
    return this.prometheus.scrape();
  }
}
