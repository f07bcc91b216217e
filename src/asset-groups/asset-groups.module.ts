import { Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { OpsModule } from '../http/ops/ops.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { AssetGroupsController } from './asset-groups.controller.js';
import { ChangeMembershipHandler } from './change-membership.js';
import { CommandQueue } from './command-queue.js';
import { CreateAssetGroupHandler } from './create-asset-group.js';
import { DeleteAssetGroupHandler } from './delete-asset-group.js';
import { EventQuota } from './event-quota.js';
import { GetAssetGroupHandler, GroupFinder } from './get-asset-group.js';
import { GroupAssetsController } from './group-assets.controller.js';
import { ListAssetGroupsHandler } from './list-asset-groups.js';
import { ListGroupAssetsHandler } from './list-group-assets.js';
import { MembershipQueue } from './membership-queue.js';
import { ModelCatchUp } from './model-catch-up.js';
import { RenameAssetGroupHandler } from './rename-asset-group.js';

@Module({
  imports: [EventLogModule, ReadModelsModule, OpsModule],
  controllers: [AssetGroupsController, GroupAssetsController],
  providers: [
    CommandQueue,
    GroupFinder,
    ModelCatchUp,
    EventQuota,
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
