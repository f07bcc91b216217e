import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { OutcomesController } from './outcomes/outcomes.controller.js';
import { ListParkedHandler } from './outcomes/list-parked.js';
import { ListRejectionsHandler } from './outcomes/list-rejections.js';
import { GetEventStatusHandler } from './outcomes/get-event-status.js';
import { GetEventUsageHandler } from './outcomes/get-event-usage.js';
import { UsageLog } from './outcomes/usage-log.js';
import { EventsController } from './receive/events.controller.js';
import { IngestMetrics, RecordEventsHandler } from './receive/record-events.js';
import { IngestBackpressure } from './receive/backpressure.js';
import { QuotasModule } from '../quotas/quotas.module.js';
import { TryEventsHandler } from './receive/dry-run.js';
import { ReferenceController } from './reference/reference.controller.js';
import { RejectionLog } from './outcomes/rejection-log.js';

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
export class IngestionModule {
  /** @param keys the module that exports the `ApiKeyVerifier` */
  static with(keys: Type): DynamicModule {
    return { module: IngestionModule, imports: [keys] };
  }
}
