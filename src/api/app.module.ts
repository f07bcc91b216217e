import { type DynamicModule, type LoggerService, Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE, NestFactory } from '@nestjs/core';
import { CqrsModule } from '@nestjs/cqrs';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { AssetCheckModule } from '../asset-check/asset-check.module.js';
import { readSourcesFile, type SourcesSettings } from '../asset-check/sources/sources-file.js';
import { AssetGroupsModule } from '../asset-groups/asset-groups.module.js';
import { Config } from '../runtime/config.js';
import { serveDashboard } from '../dashboard/serve-dashboard.js';
import { AccessLogOutput } from '../http/ops/access-log.js';
import { DisputesModule } from '../disputes/disputes.module.js';
import { ErrorFilter } from '../http/errors/error-response.js';
import { HttpModule } from '../http/http.module.js';
import { serveOpenApi } from '../http/reference/docs.js';
import { createServer } from '../http/server.js';
import { DtoValidation } from '../http/body/validation.js';
import { IngestionModule } from '../ingestion/ingestion.module.js';
import { ListsModule } from '../lists/lists.module.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { OrganizationModule } from '../organization/organization.module.js';
import { RecordsModule } from '../records/records.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { tryWriteLines } from '../runtime/terminal.js';

/**
 * The composition root. The validation pipe and the error filter are providers, so that tests run with the same pipe
 * and filter as production. `AppModule` is global, because it exports the settings and the output of the access log.
 */
@Module({})
export class AppModule {
  /** @param config `databaseUrl` must be set, and the database must have been migrated */
  static with(config: Config, sources: SourcesSettings = readSourcesFile(config)): DynamicModule {
    return {
      module: AppModule,
      global: true,
      imports: [
        CqrsModule.forRoot(),
        HttpModule.with(config, ApiKeysModule),
        IngestionModule.with(ApiKeysModule),
        MetricsModule,
        RecordsModule,
        WebhooksModule,
        AssetCheckModule.with(sources),
        AssetGroupsModule,
        DisputesModule,
        OrganizationModule,
        ...(config.lists === 'off' ? [] : [ListsModule.with(config)]),
      ],
      providers: [
        { provide: Config, useValue: config },
        { provide: AccessLogOutput, useValue: { write: tryWriteLines } },
        { provide: APP_PIPE, useClass: DtoValidation },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
      exports: [Config, AccessLogOutput],
    };
  }
}

/** Creates the API. The returned application does not listen yet. */
export const createApp = async (
  config: Config,
  logger: LoggerService | false,
  sources?: SourcesSettings,
): Promise<NestFastifyApplication> => {
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.with(config, sources), createServer(config), {
    logger,
    bodyParser: false,
    abortOnError: false,
  });
  serveOpenApi(app);
  serveDashboard(app.getHttpAdapter().getInstance());
  return app;
};
