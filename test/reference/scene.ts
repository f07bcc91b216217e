import { connect } from 'node:net';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { seenPathOf } from '../../src/asset-check/lists/list-copy.js';
import { KeyRing } from '../../src/api-keys/key-ring.js';
import { MEASURE } from '../../src/read-models/measure.js';
import { MAX_DAYS } from '../../src/metrics/count-sql.js';
import { MetricsPool, WatchPool } from '../../src/read-models/pools.js';
import type { Scope } from '../../src/events/api-keys.js';
import { startApp, type TestApp } from '../support/app.js';
import { eventually } from '../support/eventually.js';
import { startProjecting } from '../support/projecting.js';

export const ORGANIZATION = 'acme';
/** Its metrics are more than an answer holds. */
export const LARGE_ORGANIZATION = 'large';

/** A service on which every answer can be had, the fixed one that the examples are recorded from. */
export interface Scene {
  readonly app: TestApp;
  /** Allows one request per key and minute. */
  readonly limited: TestApp;
  /** Has not read its keys, because its database is away. */
  readonly away: TestApp;
  key(scopes: readonly Scope[], organization?: string): Promise<string>;
  /** Resolves when what has been reported so far is counted. */
  caughtUp(): Promise<void>;
  /** Meanwhile every command and query throws what nobody foresaw. */
  broken<T>(ask: () => Promise<T>): Promise<T>;
  /** From now on the read models do not answer, and nothing more is counted. */
  endPools(): Promise<void>;
  close(): Promise<void>;
}

const SOURCES = {
  sources: [
    { id: 'own', kind: 'own' },
    { id: 'house-list', kind: 'list', format: 'plain', file: 'house-list.txt' },
    { id: 'partner', kind: 'http', url: 'http://127.0.0.1:9/asset/check', mode: 'DISABLED' },
  ],
};

const endPools = async ({ pool, app }: TestApp): Promise<void> => {
  await Promise.all([pool, app.get(MetricsPool), app.get(WatchPool)].map((each) => each.end()));
};

export const setScene = async (): Promise<Scene> => {
  const folder = mkdtempSync(join(tmpdir(), 'threat-protection-scene-'));
  writeFileSync(join(folder, 'house-list.txt'), 'polkadot-dot.info\n');
  writeFileSync(join(folder, 'sources.json'), JSON.stringify(SOURCES));
  const env = { SOURCES_FILE: join(folder, 'sources.json'), RATE_LIMIT_PER_MINUTE: '6000' };
  const data = join(folder, 'data');
  const [app, limited, away] = await Promise.all([
    startApp({ env: { ...env, DATA_DIR: data } }),
    startApp({ env: { ...env, RATE_LIMIT_PER_MINUTE: '1' } }),
    startApp({ env }),
  ]);
  await eventually('it is kept since when the list is watched', () => existsSync(seenPathOf(data, 'house-list')));
  const projecting = startProjecting(app.log, app.pool);
  await endPools(away);
  // As in the moment after the start, for good.
  const keys = away.app.get(KeyRing);
  await keys.onApplicationShutdown();
  Object.assign(keys, { complete: false });
  await app.pool.query(`insert into read.days select $1, '', $3, day, 1 from generate_series(1, $2::int) day`, [
    LARGE_ORGANIZATION,
    MAX_DAYS + 1,
    MEASURE.threat,
  ]);
  return {
    app,
    limited,
    away,
    // An organization's own key may not report brands and flags.
    key: (scopes, organization = ORGANIZATION) =>
      app.issueKey(scopes.includes('ingest') ? { scopes } : { organization, scopes }),
    caughtUp: () => projecting.reached(),
    broken: async (ask) => {
      const spies = [CommandBus, QueryBus].map(({ prototype }) =>
        jest.spyOn(prototype, 'execute').mockRejectedValue(new TypeError('nobody foresaw this')),
      );
      try {
        return await ask();
      } finally {
        for (const spy of spies) spy.mockRestore();
      }
    },
    endPools: async () => {
      await projecting.stop();
      await endPools(app);
    },
    close: async () => {
      await projecting.stop();
      await limited.close();
      for (const ended of [app, away])
        // A pool can be ended once; what was found in the answers is said all the same.
        await ended.close().catch((error: Error) => {
          if (!error.message.includes('end on pool')) throw error;
        });
      rmSync(folder, { recursive: true });
    },
  };
};

/** Sends bytes as they are, and reads one answer. */
export const sendRaw = (url: string, bytes: string): Promise<{ status: number; headers: Headers; body: string }> =>
  new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (more: string) => (text += more));
    socket.on('error', reject).on('close', () => {
      const [head = '', body = ''] = text.split('\r\n\r\n');
      const [line = '', ...lines] = head.split('\r\n');
      const headers = new Headers(lines.map((each): [string, string] => [each.split(': ')[0]!, each.split(': ')[1]!]));
      resolve({ status: Number(line.split(' ')[1]), headers, body });
    });
  });
