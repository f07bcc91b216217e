import { Module } from '@nestjs/common';
import { OpsModule } from '../ops/ops.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { DailyQuota } from './daily-quota.js';

/** The daily quota, which all modules that store events of an organization share. */
@Module({
  imports: [ReadModelsModule, OpsModule],
  providers: [DailyQuota],
  exports: [DailyQuota],
})
export class QuotasModule {}
