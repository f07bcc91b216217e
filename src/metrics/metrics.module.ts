import { Module } from '@nestjs/common';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { CompareMetricsHandler } from './comparison/compare-metrics.js';
import { GetFalsePositivesHandler } from './false-positives/get-false-positives.js';
import { GetMetricsHandler } from './totals/get-metrics.js';
import { GetTakedownStatisticsHandler } from './takedowns/get-takedown-statistics.js';
import { GetTimelineHandler } from './timeline/get-timeline.js';
import { MetricsQueries } from './metrics-queries.js';
import { MetricsController } from './metrics.controller.js';

@Module({
  imports: [ReadModelsModule],
  controllers: [MetricsController],
  providers: [
    MetricsQueries,
    GetMetricsHandler,
    GetTimelineHandler,
    CompareMetricsHandler,
    GetTakedownStatisticsHandler,
    GetFalsePositivesHandler,
  ],
})
export class MetricsModule {}
