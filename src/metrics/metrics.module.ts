import { Module } from '@nestjs/common';
import { GetMetricsHandler } from './get-metrics.js';
import { GetTimelineHandler } from './get-timeline.js';
import { MetricsQueries } from './metrics-queries.js';
import { MetricsController } from './metrics.controller.js';
import { TimelineController } from './timeline.controller.js';

@Module({
  controllers: [MetricsController, TimelineController],
  providers: [MetricsQueries, GetMetricsHandler, GetTimelineHandler],
})
export class MetricsModule {}
