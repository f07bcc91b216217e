import { Module } from '@nestjs/common';
import { QuotasModule } from '../quotas/quotas.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { GetOrganizationHandler } from './get-organization.js';
import { ListOwnBrandsHandler } from './list-own-brands.js';
import { OrganizationController } from './organization.controller.js';

@Module({
  imports: [ReadModelsModule, QuotasModule],
  controllers: [OrganizationController],
  providers: [GetOrganizationHandler, ListOwnBrandsHandler],
})
export class OrganizationModule {}
