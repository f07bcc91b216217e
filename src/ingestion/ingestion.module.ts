import { Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { OutcomesController } from './outcomes.controller.js';
import { ListParkedHandler } from './parked/list-parked.js';
import { ListRejectionsHandler } from './rejections/list-rejections.js';
import { GetEventStatusHandler } from './status/get-event-status.js';
import { GetEventUsageHandler } from './usage/get-event-usage.js';
import { UsageLog } from './usage/usage-log.js';
import { EventsController } from './receive/events.controller.js';
import { IngestMetrics } from './ingest-metrics.js';
import { IngestBackpressure } from './backpressure.js';
import { QuotasModule } from '../quotas/quotas.module.js';
import { TryEventsHandler } from './dry-run/try-events.js';
import { RecordEventsHandler } from './receive/record-events.js';
import { ReferenceController } from './reference/reference.controller.js';
import { RejectionLog } from './rejections/rejection-log.js';

@Module({
  imports: [EventLogModule, ReadModelsModule, QuotasModule],
  controllers: [EventsController, OutcomesController, ReferenceController],
  providers: [
    RecordEventsHandler,
    TryEventsHandler,
    IngestBackpressure,
    IngestMetrics,
    RejectionLog,
    UsageLog,
    ListRejectionsHandler,
    ListParkedHandler,
    GetEventUsageHandler,
    GetEventStatusHandler,
  ],
})
export class IngestionModule {}
