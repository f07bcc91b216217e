import { Module } from '@nestjs/common';
import { GetOrganizationHandler } from './get-organization.js';
import { ListOwnBrandsHandler } from './list-own-brands.js';
import { OrganizationController } from './organization.controller.js';

@Module({ controllers: [OrganizationController], providers: [GetOrganizationHandler, ListOwnBrandsHandler] })
export class OrganizationModule {}
