import { Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { CompareMetricsHandler } from './compare-metrics.js';
import { GetFalsePositivesHandler } from './get-false-positives.js';
import { GetMetricsHandler } from './get-metrics.js';
import { GetTakedownStatisticsHandler } from './get-takedown-statistics.js';
import { GetTimelineHandler } from './get-timeline.js';
import { MetricsQueries } from './metrics-queries.js';
import { GetRestatementHandler, ListRestatedRecordsHandler } from './restatement/get-restatement.js';
import { KnownMoments } from './known-moments.js';
import { RestatementController } from './restatement/restatement.controller.js';
import { MetricsController } from './metrics.controller.js';

@Module({
  imports: [EventLogModule, ReadModelsModule],
  controllers: [MetricsController, RestatementController],
  providers: [
    MetricsQueries,
    KnownMoments,
    GetMetricsHandler,
    GetTimelineHandler,
    CompareMetricsHandler,
    GetTakedownStatisticsHandler,
    GetFalsePositivesHandler,
    GetRestatementHandler,
    ListRestatedRecordsHandler,
  ],
})
export class MetricsModule {}
