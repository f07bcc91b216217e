import { Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { AssetGroupsController } from './asset-groups.controller.js';
import { CommandQueue } from './command-queue.js';
import { CreateAssetGroupHandler } from './create-asset-group.js';
import { DeleteAssetGroupHandler } from './delete-asset-group.js';
import { ListAssetGroupsHandler } from './list-asset-groups.js';
import { RenameAssetGroupHandler } from './rename-asset-group.js';
import { StreamTailCache } from './tail.js';

@Module({
  imports: [CqrsModule],
  controllers: [AssetGroupsController],
  providers: [
    StreamTailCache,
    CommandQueue,
    CreateAssetGroupHandler,
    RenameAssetGroupHandler,
    DeleteAssetGroupHandler,
    ListAssetGroupsHandler,
  ],
})
export class AssetGroupsModule {}
