import { Module } from '@nestjs/common';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { CompareMetricsHandler } from './compare-metrics.js';
import { GetFalsePositivesHandler } from './get-false-positives.js';
import { GetMetricsHandler } from './get-metrics.js';
import { GetTakedownStatisticsHandler } from './get-takedown-statistics.js';
import { GetTimelineHandler } from './get-timeline.js';
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
