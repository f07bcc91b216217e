import { Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Kysely } from 'kysely';
import { Pool } from 'pg';
import { Config } from '../config.js';
import { migrate } from './migrate.js';
import { createPool, createReadModels } from './pool.js';

@Global()
@Module({
  providers: [
    {
      provide: Pool,
      inject: [Config],
      useFactory: async (config: Config): Promise<Pool> => {
        const pool = createPool(config.databaseUrl!, () => {
          // An idle connection broke. The next statement takes a new one, and says so where that fails too.
        });
        await migrate(pool);
        return pool;
      },
    },
    { provide: Kysely, inject: [Pool], useFactory: (pool: Pool) => createReadModels(pool) },
  ],
  exports: [Pool, Kysely],
})
export class ReadModelsModule implements OnApplicationShutdown {
  constructor(private readonly pool: Pool) {}

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }
}
