import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { seenPathOf } from '../../../src/asset-check/lists/list-copy.js';
import { KeyRing } from '../../../src/api-keys/key-ring.js';
import { dayOf } from '../../../src/events/instant.js';
import { OUTCOME } from '../../../src/read-models/takedown-outcome.js';
import { MEASURE } from '../../../src/events/measure.js';
import { MAX_CELLS } from '../../../src/metrics/timeline/timeline-sql.js';
import { MAX_DAYS, MAX_TYPES } from '../../../src/metrics/totals/count-sql.js';
import { MetricsPool, WatchPool } from '../../../src/read-models/pools.js';
import type { Scope } from '../../../src/events/types/api-keys.js';
import { webhooksStream } from '../../../src/events/streams.js';
import { MAX_WEBHOOKS } from '../../../src/webhooks/endpoints/webhook.js';
import { ExportRecordsHandler } from '../../../src/records/export-records.js';
import { RejectionLog } from '../../../src/ingestion/rejections/rejection-log.js';
import { UsageLog } from '../../../src/ingestion/usage/usage-log.js';
import { startApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { startProjecting } from '../../support/projecting.js';

export const ORGANIZATION = 'acme';
/** Its metrics, timeline and takedowns are more than an answer holds. */
export const LARGE_ORGANIZATION = 'large';

/** One that is failing. */
export const WEBHOOK = 'wh_4a7d1ed414474e4033ac29cc';

/** A service on which every answer can be had, the fixed one that the examples are recorded from. */
export interface Scene {
  readonly app: TestApp;
  /** Allows one request per key and minute, and an organization one event a day. */
  readonly limited: TestApp;
  /** Has not read its keys, because its database is away. */
  readonly away: TestApp;
  key(scopes: readonly Scope[], organization?: string): Promise<string>;
  /** Resolves when what has been reported so far is counted, and what became of it is kept. */
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

/** The first and the last day of March 2026, ms. */
const MARCH = [Date.UTC(2026, 2, 1), Date.UTC(2026, 2, 31)] as const;

/** What a table of records may have in the scene; the large organization has one more of each kind. */
const MANY_ROWS = 100;

/** In all, more days than an answer of metrics holds; in March more counts by type and day, and takedowns of more types. */
const fillLargeOrganization = async ({ app, pool }: TestApp): Promise<void> => {
  const [first, last] = MARCH.map(dayOf) as [number, number];
  await pool.query(`insert into read.days select $1, '', $3, day, 1 from generate_series(1, $2::int) day`, [
    LARGE_ORGANIZATION,
    MAX_DAYS + 1,
    MEASURE.threat,
  ]);
  await pool.query(
    `insert into read.type_days select $1, '', day, 'TYPE-' || type, 1
     from generate_series($2::int, $3::int) day, generate_series(1, $4::int) type`,
    [LARGE_ORGANIZATION, first, last, Math.floor(MAX_CELLS / (last - first + 1)) + 1],
  );
  await pool.query(
    `insert into read.takedowns (organization, id, version, event_id, brand, type, outcome, created_at, updated_at)
     select $1, 'takedown-' || n, 1, gen_random_uuid(), '', 'TYPE-' || n, $2, $3, $3 from generate_series(1, $4::int) n`,
    [LARGE_ORGANIZATION, OUTCOME.completed, MARCH[0], MAX_TYPES + 1],
  );
  // A million of each kind would take a minute.
  Object.assign(app.get(ExportRecordsHandler), { maxRows: MANY_ROWS });
  await pool.query(
    `insert into read.listed_records
       (organization, kind, id, version, event_id, position, stored_at, created_at, status, type, item)
     select $1, kind, 'record-' || n, 1, gen_random_uuid(), n, $2, $2, 'BLOCKED', 'URL', '{}'
     from generate_series(1, 4) kind, generate_series(1, $3::int) n`,
    [LARGE_ORGANIZATION, MARCH[0], MANY_ROWS + 1],
  );
};

/** One webhook of the organization with what was sent to it so far, and as many of the large one as it may have. */
const addWebhooks = async ({ log, pool }: TestApp): Promise<void> => {
  const [createdAt, startLog] = ['2026-03-03T00:00:00.000Z', await log.id()];
  const webhook = (organization: string, webhookId: string): Promise<unknown> => {
    const url = `https://${organization}.example/webhooks`;
    const data = { organization, webhookId, url, batch: 1, state: 'ACTIVE', generation: 1, masterKey: 'first' };
    const event = { ...data, startAfter: -1, startLog, replay: 0, createdAt, updatedAt: createdAt };
    const stored = { id: randomUUID(), type: 'WebhookCreated', data: event, metadata: {} };
    return log.append(webhooksStream(organization), 'any', [stored]);
  };
  await webhook(ORGANIZATION, WEBHOOK);
  for (let n = 1; n <= MAX_WEBHOOKS; n += 1) await webhook(LARGE_ORGANIZATION, `wh_${n}`);
  const [succeeded, failed, again] = [0, 60_000, 65_000].map((ms) => MARCH[1] + ms);
  const failure = { at: failed, status: 503, error: 'answered 503', answer: 'Service Unavailable' };
  const progress = { replay: 0, logId: startLog, position: -1, failingSince: failed, tries: 1, nextAttemptAt: again };
  await pool.query('insert into service.webhook_progress values ($1, $2)', [
    WEBHOOK,
    { ...progress, lastSuccessAt: succeeded, lastFailure: failure },
  ]);
  const attempts = [
    { at: succeeded, deliveryId: 'msg-1', records: 1, ms: 41, isTest: false, status: 204 },
    { at: failed, deliveryId: 'msg-2', records: 1, ms: 38, isTest: false, status: 503, error: 'answered 503' },
  ];
  await pool.query('insert into service.webhook_attempts select $1, * from unnest($2::int[], $3::json[])', [
    WEBHOOK,
    [1, 2],
    attempts,
  ]);
};

/** In place of the delivery process: every test succeeds. */
const answerTests = ({ pool }: TestApp): NodeJS.Timeout => {
  const result = JSON.stringify({ webhookId: 'msg-3', status: 204, took: 41 });
  return setInterval(() => {
    pool.query('update service.webhook_tests set answered_at = 0, result = $1', [result]).catch(() => {});
  }, 20).unref();
};

export const setScene = async (): Promise<Scene> => {
  const folder = mkdtempSync(join(tmpdir(), 'threat-protection-scene-'));
  writeFileSync(join(folder, 'house-list.txt'), 'polkadot-dot.info\n');
  writeFileSync(join(folder, 'sources.json'), JSON.stringify(SOURCES));
  const keys = join(folder, 'webhook-master-key');
  writeFileSync(keys, `${Buffer.alloc(32, 1).toString('base64')}\n`);
  const env = {
    SOURCES_FILE: join(folder, 'sources.json'),
    RATE_LIMIT_PER_MINUTE: '6000',
    WEBHOOK_MASTER_KEY_FILE: keys,
  };
  const data = join(folder, 'data');
  const [app, limited, away] = await Promise.all([
    startApp({ env: { ...env, DATA_DIR: data } }),
    startApp({ env: { ...env, RATE_LIMIT_PER_MINUTE: '1', INGEST_EVENTS_PER_DAY: '1' } }),
    startApp({ env }),
  ]);
  await eventually('it is kept since when the list is watched', () => existsSync(seenPathOf(data, 'house-list')));
  const projecting = startProjecting(app.log, app.pool);
  await endPools(away);
  // As in the moment after the start, for good.
  const keyRing = away.app.get(KeyRing);
  await keyRing.onApplicationShutdown();
  Object.assign(keyRing, { complete: false });
  await fillLargeOrganization(app);
  // Nothing is counted there, and it says since when.
  await limited.pool.query(
    `insert into read.checkpoints (projection, log_id, position, as_of) values ('metrics', 'log', 0, $1)`,
    [MARCH[0]],
  );
  await addWebhooks(app);
  const answering = answerTests(app);
  return {
    app,
    limited,
    away,
    // An organization's own key may not report brands and flags.
    key: (scopes, organization = ORGANIZATION) =>
      app.issueKey(scopes.includes('ingest') ? { scopes } : { organization, scopes }),
    caughtUp: async () => {
      await projecting.reached();
      for (const kept of [RejectionLog, UsageLog])
        await app.app.get<RejectionLog | UsageLog>(kept).beforeApplicationShutdown();
    },
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
      clearInterval(answering);
      await projecting.stop();
      await endPools(app);
    },
    close: async () => {
      clearInterval(answering);
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
