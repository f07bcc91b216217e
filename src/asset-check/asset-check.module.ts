import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { EventLogModule } from '../event-log/event-log.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { AssetChecker } from './asset-checker.js';
import { AssetCheckController } from './asset-check.controller.js';
import { CheckAssetHandler, CheckAssetsHandler, GetVerdictsHandler } from './check-assets.js';
import { GetAssetHistoryHandler } from './get-asset-history.js';
import { StatusEntries } from './own/status-entries.js';
import { ConfiguredSources } from './sources/configured-sources.js';
import { SOURCES, type SourcesSettings } from './sources/sources-file.js';
import { GuardedHosts } from '../verdicts.js';

/** The module is global, because features that must not import this feature use the guarded hosts. */
@Global()
@Module({
  imports: [EventLogModule, ReadModelsModule],
  controllers: [AssetCheckController],
  providers: [
    ConfiguredSources,
    { provide: GuardedHosts, inject: [ConfiguredSources], useFactory: ({ guards }: ConfiguredSources) => guards },
    {
      provide: AssetChecker,
      inject: [ConfiguredSources, Registry],
      useFactory: ({ sources, budgetMs }: ConfiguredSources, registry: Registry): AssetChecker =>
        new AssetChecker(sources, budgetMs, registry),
    },
    CheckAssetHandler,
    CheckAssetsHandler,
    StatusEntries,
    GetAssetHistoryHandler,
    GetVerdictsHandler,
  ],
  exports: [GuardedHosts, ConfiguredSources],
})
export class AssetCheckModule {
  static with(sources: SourcesSettings): DynamicModule {
    return { module: AssetCheckModule, providers: [{ provide: SOURCES, useValue: sources }] };
  }
}
