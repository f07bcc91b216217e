import { Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { AssetGroupsController, GroupAssetsController } from './asset-groups.controller.js';
import { ChangeMembershipHandler, MembershipQueue } from './change-membership.js';
import {
  GroupCommands,
  CreateAssetGroupHandler,
  DeleteAssetGroupHandler,
  RenameAssetGroupHandler,
} from './group-commands.js';
import { QuotasModule } from '../quotas/quotas.module.js';
import { GetAssetGroupHandler, GroupFinder } from './load-groups.js';
import { GroupSlices, ListAssetGroupsHandler } from './list-asset-groups.js';
import { ListGroupAssetsHandler } from './list-group-assets.js';

@Module({
  imports: [EventLogModule, ReadModelsModule, QuotasModule],
  controllers: [AssetGroupsController, GroupAssetsController],
  providers: [
    GroupCommands,
    GroupFinder,
    GroupSlices,
    MembershipQueue,
    CreateAssetGroupHandler,
    RenameAssetGroupHandler,
    DeleteAssetGroupHandler,
    ListAssetGroupsHandler,
    GetAssetGroupHandler,
    ListGroupAssetsHandler,
    ChangeMembershipHandler,
  ],
})
export class AssetGroupsModule {}
