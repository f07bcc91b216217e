import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { ConcurrencyLimit } from '../../src/flow/concurrency-limit.js';
import { TimeSlices } from '../../src/flow/turns.js';
import { ExportPool, MetricsPool, RecordsPool } from '../../src/read-models/pools.js';
import { startApp, type TestApp } from '../support/app.js';
import { eventually } from '../support/eventually.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { projectToHead } from '../support/projecting.js';
import {
  ANSWERED_WITHOUT,
  keyedOperations,
  ONE_AT_A_TIME,
  REQUESTS,
  TAXII_REQUESTS,
  TAXII_WITHOUT,
} from '../support/requests.js';
import { sentThreat, stored } from '../support/upstream.js';
import { whileLocked } from '../support/while-locked.js';

const WAITING = 40;

const ALL = { ...REQUESTS, ...TAXII_REQUESTS };

const folder = mkdtempSync(join(tmpdir(), 'turns-'));
const keyFile = join(folder, 'keys');

let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  database = await createDatabase();
  writeFileSync(keyFile, `${Buffer.alloc(32, 7).toString('base64')}\n`);
  app = await startApp({ databaseUrl: database.url, env: { WEBHOOK_MASTER_KEY_FILE: keyFile } });
  // Lists return 200 once the initial backfill is complete, and do not check the backfill again.
  await projectToHead(app.log, app.pool);
  const key = await app.issueKey({ organization: 'acme' });
  await eventually(
    'the lists are filled',
    async () => (await app.call('/v2/organization/reports', { key })).status === 200,
  );
});
afterAll(async () => {
  await app.close();
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Blocks every statement on the read models while `work` runs. */
const whileHeld = async (work: () => Promise<void>): Promise<void> => {
  const { rows } = await database.pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname in ('read', 'service') and tablename <> 'checkpoints'`,
  );
  await whileLocked(
    database.pool,
    rows.map(({ name }) => name),
    work,
  );
};

/**
 * Counts the blocked statements of requests. Statements of background followers, and statements that write, are
 * excluded.
 */
const blockedStatements = async (): Promise<number> => {
  const { rows } = await database.pool.query<{ n: number }>(
    `select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and query !~* '^\\s*(insert|delete)|asset_statuses|ingest_usage|key_uses'`,
  );
  return rows[0]!.n;
};

/** Counts the requests that wait for a connection because their pool is in use. */
const withoutConnection = (): number =>
  [Pool, MetricsPool, RecordsPool, ExportPool].reduce((sum, pool) => sum + app.app.get<Pool>(pool).waitingCount, 0);

const newOrganization = async () => {
  const organization = `org-${randomUUID().slice(0, 8)}`;
  const key = await app.issueKey({ organization, scopes: ['read', 'write', 'ingest'] });
  const send = async (operation: string, n: number): Promise<number> => {
    const { path, ...options } = ALL[operation]!(n, organization);
    return (await app.call(path, { ...options, key })).status;
  };
  return { organization, send };
};

describe('The concurrency limit of an organization', () => {
  it('is tested for every route that needs a key', () => {
    expect([...Object.keys(ALL), ...TAXII_WITHOUT].sort()).toEqual(keyedOperations().sort());
  });

  it('lets requests that wait for the same metrics share one text, and sends their responses in turn', async () => {
    const { send } = await newOrganization();
    const toJson = jest.spyOn(JSON, 'stringify');
    const waitForTurn = jest.spyOn(TimeSlices.prototype, 'waitForTurn');
    try {
      const requests: Promise<number>[] = [];
      await whileHeld(async () => {
        requests.push(send('getMetrics', 1));
        await eventually('the first query hangs', async () => (await blockedStatements()) === 1);
        for (let n = 0; n < 10; n += 1) requests.push(send('getMetrics', 1));
        // Arrives after the other requests, and needs no database.
        expect(await send('checkAsset', 1)).toBe(200);
      });
      expect(await Promise.all(requests)).toEqual(Array(11).fill(200));
      const metrics = toJson.mock.calls.filter(([value]) => Object.hasOwn(Object(value), 'blockedByDay'));
      // The text of the first query, and the text that the ten waiting requests share.
      expect(metrics).toHaveLength(2);
      // Each waits for its turn after the text, and those that share a query after the query.
      expect(waitForTurn).toHaveBeenCalledTimes(21);
    } finally {
      toJson.mockRestore();
      waitForTurn.mockRestore();
    }
  });

  it.each([
    // Texts of up to 4 MiB are also written in slices: those of the first two, and that of the ten that wait.
    ['getTaxiiObjects', 3, 10],
    ['getTaxiiManifest', 3, 10],
    ['getFeed', 3, 10],
    // Each waits for its turn after the text, and those that share a query after the query.
    ['listThreats', 0, 22],
  ])(
    'lets requests that wait for the same %s share one text, and sends their responses in turn',
    async (operation, texts, turns) => {
      const n = 30;
      const { organization, send } = await newOrganization();
      await app.log.appendAll([stored(sentThreat('threat-1', { organization }))]);
      await projectToHead(app.log, app.pool);
      const run = jest.spyOn(TimeSlices.prototype, 'run');
      const waitForTurn = jest.spyOn(TimeSlices.prototype, 'waitForTurn');
      try {
        const requests: Promise<number>[] = [];
        await whileHeld(async () => {
          // Two queries of an organization run at the same time.
          for (const other of [n, n + 1]) requests.push(send(operation, other));
          await eventually('the first queries hang', async () => (await blockedStatements()) === 2);
          for (let waiting = 0; waiting < 10; waiting += 1) requests.push(send(operation, n));
          // Arrives after the other requests, and needs no database.
          expect(await send('checkAsset', 1)).toBe(200);
          run.mockClear();
        });
        expect(await Promise.all(requests)).toEqual(Array(12).fill(200));
        const runs = run.mock.calls.filter(([owner]) => owner === organization);
        expect([runs.length, waitForTurn.mock.calls.length]).toEqual([texts, turns]);
      } finally {
        run.mockRestore();
        waitForTurn.mockRestore();
      }
    },
  );

  // A rotation waits for the projector, which does not run here, before it reads; it reads as the other changes do.
  const unasked = [...ANSWERED_WITHOUT, 'rotateWebhookSecret'];
  const asked = Object.keys(ALL).filter((operation) => !unasked.includes(operation));
  it.each(asked)('lets requests that share a run of %s continue in turn', async (operation) => {
    const { organization, send } = await newOrganization();
    const run = jest.spyOn(ConcurrencyLimit.prototype, 'run');
    try {
      expect([200, 201, 404, 409, 422]).toContain(await send(operation, 1));
      for (const [n, [owner, key]] of run.mock.calls.entries())
        if (owner === organization && key !== undefined)
          expect(run.mock.contexts[n]).toHaveProperty('slices', expect.any(TimeSlices));
    } finally {
      run.mockRestore();
    }
  });

  it.each(ANSWERED_WITHOUT)('does not affect %s, which responds while every statement hangs', async (operation) => {
    const { send: ask } = await newOrganization();
    await whileHeld(async () => {
      expect(await ask(operation, 1)).toBe(200);
    });
  });

  it.each(asked)('leaves connections to other organizations while one organization repeats %s', async (operation) => {
    const [{ send: noisy }, { send: quiet }] = [await newOrganization(), await newOrganization()];
    const running = ONE_AT_A_TIME.includes(operation) ? 1 : 2;
    const statuses: number[] = [];
    let [requestCount, isOver] = [0, false];
    // The service cancels a statement that hangs for 2 s, so the requests repeat until statements of both
    // organizations hang at the same time.
    const keepAsking = async (ask: typeof noisy): Promise<void> => {
      while (!isOver) {
        const status = await ask(operation, (requestCount += 1));
        statuses.push(status);
        if (status === 429) return;
      }
    };
    const asking: Promise<void>[] = [];
    await whileHeld(async () => {
      for (let n = 0; n < WAITING; n += 1) asking.push(keepAsking(noisy));
      // Arrives after all other requests, and needs no database.
      expect(await noisy('checkAsset', 1)).toBe(200);
      await eventually(
        'the statements of the noisy organization hang',
        async () => (await blockedStatements()) >= running,
      );
      asking.push(keepAsking(quiet));
      await eventually('the quiet organization has a connection', async () => (await blockedStatements()) > running);
      expect(await blockedStatements()).toBeLessThanOrEqual(running + 1);
      expect(withoutConnection()).toBe(0);
    }).finally(() => (isOver = true));
    await Promise.all(asking);
    for (const status of statuses) expect([200, 201, 404, 409, 422, 429, 503]).toContain(status);
    expect([200, 201, 404, 422]).toContain(await quiet(operation, (requestCount += 1)));
  });
});
