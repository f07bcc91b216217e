import { Module, type OnApplicationShutdown, type Provider } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Pool } from 'pg';
import { DatabaseClock } from '../postgres/clock.js';
import { WaitingRequests } from '../flow/concurrency-limit.js';
import { Checkpoints } from './checkpoints.js';
import { Config } from '../runtime/config.js';
import { Replicas } from './replicas.js';
import { Expiry } from './expiry.js';
import { RequestConcurrency } from './request-concurrency.js';
import {
  CheckpointPool,
  createCheckpointPool,
  createExportPool,
  createMetricsPool,
  createRecordsPool,
  createReplicaPools,
  createRequestPool,
  createWatchPool,
  ExportPool,
  MetricsPool,
  RecordsPool,
  WatchPool,
} from './pools.js';

const POOLS = [Pool, MetricsPool, RecordsPool, ExportPool, WatchPool, CheckpointPool] as const;

const provided = (
  provide: (typeof POOLS)[number],
  create: (url: string) => Pool,
  urlOf = ({ databaseUrl }: Config): string => databaseUrl!,
): Provider => ({ provide, inject: [Config], useFactory: (config: Config) => create(urlOf(config)) });

@Module({
  providers: [
    { provide: DatabaseClock, inject: [WatchPool], useFactory: (pool: WatchPool) => new DatabaseClock(pool).begin() },
    WaitingRequests,
    Checkpoints,
    RequestConcurrency,
    Expiry,
    provided(Pool, createRequestPool),
    provided(MetricsPool, createMetricsPool),
    provided(RecordsPool, createRecordsPool),
    // An export uses its connection for minutes, which would exhaust the connections of a pooler.
    provided(ExportPool, createExportPool, ({ databaseDirectUrl, databaseUrl }) => databaseDirectUrl ?? databaseUrl!),
    provided(WatchPool, createWatchPool),
    provided(CheckpointPool, createCheckpointPool),
    {
      provide: Replicas,
      inject: [Config, Checkpoints],
      useFactory: ({ databaseReadUrl, readMaxLagSeconds }: Config, checkpoints: Checkpoints): Replicas =>
        new Replicas(
          databaseReadUrl === undefined ? undefined : createReplicaPools(databaseReadUrl),
          checkpoints,
          readMaxLagSeconds * 1_000,
        ),
    },
  ],
  exports: [DatabaseClock, Checkpoints, Replicas, ...POOLS, RequestConcurrency, WaitingRequests, Expiry],
})
export class ReadModelsModule implements OnApplicationShutdown {
  constructor(private readonly module: ModuleRef) {}

  async onApplicationShutdown(): Promise<void> {
    this.module.get(DatabaseClock).end();
    // `Replicas` polls the primary through one of the pools, so `Replicas` ends first.
    await this.module.get(Replicas).end();
    await Promise.all(POOLS.map((pool) => this.module.get<Pool>(pool).end()));
  }
}
