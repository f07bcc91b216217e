import { Module } from '@nestjs/common';
import { QuotasModule } from '../quotas/quotas.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { GetOrganizationHandler, ListOwnBrandsHandler } from './organization.js';
import { OrganizationController } from './organization.controller.js';

@Module({
  imports: [ReadModelsModule, QuotasModule],
  controllers: [OrganizationController],
  providers: [GetOrganizationHandler, ListOwnBrandsHandler],
})
export class OrganizationModule {}
