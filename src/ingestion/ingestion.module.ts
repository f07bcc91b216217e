import { Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { OpsModule } from '../http/ops/ops.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { EventsController } from './events.controller.js';
import { IngestMetrics } from './ingest-metrics.js';
import { IngestBackpressure } from './pace.js';
import { Quota } from './quota.js';
import { RecordEventsHandler } from './record-events.js';
import { ReferenceController } from './reference.controller.js';
import { RejectionLog } from './rejection-log.js';

@Module({
  imports: [EventLogModule, ReadModelsModule, OpsModule],
  controllers: [EventsController, ReferenceController],
  providers: [RecordEventsHandler, IngestBackpressure, Quota, IngestMetrics, RejectionLog],
})
export class IngestionModule {}
