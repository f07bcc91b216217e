import { Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { QuotasModule } from '../quotas/quotas.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { DisputesController } from './disputes.controller.js';
import { FileDisputeHandler } from './file-dispute.js';

/** Filing disputes. The module `records` lists them. */
@Module({
  imports: [EventLogModule, ReadModelsModule, QuotasModule],
  controllers: [DisputesController],
  providers: [FileDisputeHandler],
})
export class DisputesModule {}
