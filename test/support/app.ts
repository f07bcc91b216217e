import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Pool } from 'pg';
import { issueApiKey } from '../../src/api-keys/api-keys.js';
import { KeyRing } from '../../src/api-keys/key-ring.js';
import { createApp } from '../../src/api/app.module.js';
import { type Config, readConfig } from '../../src/runtime/config.js';
import { EventLog } from '../../src/event-log/event-log.js';
import type { Scope } from '../../src/events/types/organizations.js';
import { type ApiResponse, call, type CallOptions } from './call.js';
import { eventStoreBeside } from './event-store.js';
import { validateResponses } from './contract.js';
import { createDatabase } from './postgres.js';

export interface TestApp {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly app: NestFastifyApplication;
  readonly config: Config;
  readonly log: EventLog;
  readonly pool: Pool;
  /** Issues a key that works at once. Default scopes: read and write. */
  issueKey(options?: { organization?: string; scopes?: readonly Scope[]; expiresAt?: number }): Promise<string>;
  call(path: string, options?: CallOptions): Promise<ApiResponse>;
  close(): Promise<void>;
}

/**
 * Starts the whole API on a new database and a free loopback port. `close` throws if a response did not match the API
 * reference.
 * @param env settings, such as `RATE_LIMIT_PER_MINUTE`
 */
export const startApp = async ({
  env = {},
  databaseUrl,
}: { env?: NodeJS.ProcessEnv; databaseUrl?: string } = {}): Promise<TestApp> => {
  const database = databaseUrl === undefined ? await createDatabase() : undefined;
  const store = await eventStoreBeside(databaseUrl ?? database!.url);
  const config = readConfig({
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '0',
    UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE: '0',
    MAX_CONNECTIONS_PER_ADDRESS: '0',
    LOG_FORMAT: 'json',
    ACCESS_LOG: 'off',
    SOURCES_FILE: process.env['SOURCES_FILE'],
    DATA_DIR: process.env['DATA_DIR'],
    DATABASE_URL: databaseUrl ?? database!.url,
    EVENTSTORE_URL: store?.url,
    ...env,
  });
  const app = await createApp(config, false);
  const faults = validateResponses(app.getHttpAdapter().getInstance());
  await app.listen({ port: config.port, host: config.host });
  const keys = app.get(KeyRing);
  const url = await app.getUrl();
  return {
    url,
    app,
    config,
    log: app.get(EventLog),
    pool: app.get(Pool),
    issueKey: async ({ organization, scopes = ['read', 'write'] as const, expiresAt } = {}) => {
      const { key } = await issueApiKey(app.get(EventLog), { scopes, organization, expiresAt });
      await keys.refresh();
      return key;
    },
    call: (path, options) => call(url + path, options),
    close: async () => {
      await app.close();
      await store?.release();
      await database?.drop();
      if (faults.length > 0) throw new Error(`Responses do not match the API reference:\n${faults.join('\n')}`);
    },
  };
};
