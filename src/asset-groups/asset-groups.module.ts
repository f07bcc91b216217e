import { Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { AssetGroupsController } from './groups/asset-groups.controller.js';
import { ChangeMembershipHandler } from './members/change-membership.js';
import { GroupCommands } from './groups/group-commands.js';
import { CreateAssetGroupHandler } from './groups/create-asset-group.js';
import { DeleteAssetGroupHandler } from './groups/delete-asset-group.js';
import { QuotasModule } from '../quotas/quotas.module.js';
import { GetAssetGroupHandler, GroupFinder } from './groups/get-asset-group.js';
import { GroupAssetsController } from './members/group-assets.controller.js';
import { GroupSlices } from './groups/group-slice.js';
import { ListAssetGroupsHandler } from './groups/list-asset-groups.js';
import { ListGroupAssetsHandler } from './members/list-group-assets.js';
import { MembershipQueue } from './members/membership-queue.js';
import { RenameAssetGroupHandler } from './groups/rename-asset-group.js';

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
