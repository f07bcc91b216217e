import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { Pool } from 'pg';
import { Config } from '../runtime/config.js';
import { Replicas } from './replicas/replicas.js';
import { RequestTurns } from './request-turns.js';
import {
  createExportPool,
  createMetricsPool,
  createRecordsPool,
  createReplicas,
  createRequestPool,
  createWatchPool,
  ExportPool,
  MetricsPool,
  RecordsPool,
  WatchPool,
} from './pools.js';

@Module({
  providers: [
    RequestTurns,
    {
      provide: Pool,
      inject: [Config],
      useFactory: ({ databaseUrl }: Config): Pool => createRequestPool(databaseUrl!),
    },
    {
      provide: MetricsPool,
      inject: [Config],
      useFactory: ({ databaseUrl }: Config): MetricsPool => createMetricsPool(databaseUrl!),
    },
    {
      provide: RecordsPool,
      inject: [Config],
      useFactory: ({ databaseUrl }: Config): RecordsPool => createRecordsPool(databaseUrl!),
    },
    {
      provide: ExportPool,
      inject: [Config],
      // Each keeps its connection for minutes, which a pooler has not got to spare.
      useFactory: ({ databaseUrl, databaseDirectUrl }: Config): ExportPool =>
        createExportPool(databaseDirectUrl ?? databaseUrl!),
    },
    {
      provide: WatchPool,
      inject: [Config],
      useFactory: ({ databaseUrl }: Config): WatchPool => createWatchPool(databaseUrl!),
    },
    {
      provide: Replicas,
      inject: [Config, WatchPool],
      useFactory: ({ databaseReadUrl, readMaxLag }: Config, watch: WatchPool): Replicas =>
        new Replicas(createReplicas(databaseReadUrl), watch, readMaxLag * 1_000),
    },
  ],
  exports: [Replicas, Pool, MetricsPool, RecordsPool, ExportPool, WatchPool, RequestTurns],
})
export class ReadModelsModule implements OnApplicationShutdown {
  constructor(
    private readonly pool: Pool,
    private readonly metrics: MetricsPool,
    private readonly records: RecordsPool,
    private readonly exports: ExportPool,
    private readonly watch: WatchPool,
    private readonly replicas: Replicas,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    const { pool, metrics, records, exports, watch } = this;
    // First: it looks at the primary.
    await this.replicas.end();
    await Promise.all([pool, metrics, records, exports, watch].map((each) => each.end()));
  }
}
