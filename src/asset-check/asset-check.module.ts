import { Module } from '@nestjs/common';
import { AssetCheck } from './asset-check.js';
import { AssetCheckController } from './asset-check.controller.js';
import { CheckAssetHandler } from './check-asset.js';
import { CheckAssetsHandler } from './check-assets.js';
import { SourceWatch } from './sources/source-watch.js';

@Module({
  controllers: [AssetCheckController],
  providers: [
    SourceWatch,
    {
      provide: AssetCheck,
      inject: [SourceWatch],
      useFactory: ({ sources, budgetMs }: SourceWatch): AssetCheck => new AssetCheck(sources, budgetMs),
    },
    CheckAssetHandler,
    CheckAssetsHandler,
  ],
})
export class AssetCheckModule {}
