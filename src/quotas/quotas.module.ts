import { Module } from '@nestjs/common';
import { OpsModule } from '../http/ops/ops.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { DailyQuota } from './daily-quota.js';

/** One quota for everything that stores events of an organization. */
@Module({
  imports: [ReadModelsModule, OpsModule],
  providers: [DailyQuota],
  exports: [DailyQuota],
})
export class QuotasModule {}
