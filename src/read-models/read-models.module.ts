import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { Pool } from 'pg';
import { Config } from '../config.js';
import { createMetricsPool, createRequestPool, createWatchPool, MetricsPool, WatchPool } from './pools.js';

@Module({
  providers: [
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
      provide: WatchPool,
      inject: [Config],
      useFactory: ({ databaseUrl }: Config): WatchPool => createWatchPool(databaseUrl!),
    },
  ],
  exports: [Pool, MetricsPool, WatchPool],
})
export class ReadModelsModule implements OnApplicationShutdown {
  constructor(
    private readonly pool: Pool,
    private readonly metrics: MetricsPool,
    private readonly watch: WatchPool,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.pool.end(), this.metrics.end(), this.watch.end()]);
  }
}
