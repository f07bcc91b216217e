import { Module } from '@nestjs/common';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { DailyQuota } from './daily-quota.js';

/** The daily quota, which all modules that store events of an organization share. */
@Module({
  imports: [ReadModelsModule],
  providers: [DailyQuota],
  exports: [DailyQuota],
})
export class QuotasModule {}
