import { describe, expect, it } from '@jest/globals';
import { dayOf } from '../../src/events/instant.js';
import { readIngestUsage } from '../../src/quotas/daily-quota.js';
import { readKeyUses } from '../../src/api-keys/key-uses.js';
import { migrateReadModels } from '../../src/read-models/prepare-tables.js';
import { startApp, type TestApp } from '../support/app.js';
import type { ApiResponse } from '../support/call.js';
import { eventually } from '../support/eventually.js';
import { sharedDatabase } from '../support/open-for-tests.js';
import { startProjecting } from '../support/projecting.js';
import { sendEvents, sentThreat } from '../support/upstream.js';

const LIMIT = 3;

const database = sharedDatabase();

const start = (): Promise<TestApp> =>
  startApp({ env: { INGEST_EVENTS_PER_DAY: String(LIMIT) }, databaseUrl: database.url });

const send = (app: TestApp, key: string, ids: readonly string[], data: object = {}): Promise<ApiResponse> =>
  sendEvents(
    app,
    key,
    ids.map((id) => sentThreat(id, { organization: 'acme', ...data }, id)),
  );

describe('After the read models were dropped and rebuilt', () => {
  it('the API returns the same usage, rejections and key uses, and quotas are not reset', async () => {
    const before = await start();
    const [ingest, read] = [
      await before.issueKey({ organization: 'acme', scopes: ['ingest'] }),
      await before.issueKey({ organization: 'acme', scopes: ['read'] }),
    ];
    expect((await send(before, ingest, ['t1', 't2', 't3'])).status).toBe(200);
    await send(before, ingest, ['wrong'], { status: 7 });
    // A process writes the usage of the last second when it stops.
    await before.close();
    const storedUsage = async (): Promise<unknown[]> => [
      await readIngestUsage(database.pool, dayOf(Date.now())),
      await readKeyUses(database.pool),
    ];
    const written = await storedUsage();
    expect(written).toEqual([[expect.objectContaining({ organization: 'acme', events: LIMIT })], expect.any(Map)]);
    expect((written[1] as Map<string, number>).size).toBeGreaterThan(0);

    await database.pool.query('drop schema read cascade');
    await migrateReadModels(database.pool);
    expect(await storedUsage()).toEqual(written);

    const after = await start();
    const projecting = startProjecting(after.log, after.pool);
    try {
      await projecting.reached();
      const { usage, quota } = (await after.call('/v2/events/usage', { key: ingest })).body;
      expect(usage).toHaveLength(2);
      expect(quota.events).toEqual({ limit: LIMIT, left: 0 });
      expect((await after.call('/v2/events/rejected', { key: ingest })).body.items).toHaveLength(1);
      // Events are accepted while the usage of the day is being read.
      let accepted = 0;
      await eventually('the quota is used up', async () => {
        const { status } = await send(after, ingest, [`after-${accepted}`]);
        if (status !== 429) accepted += 1;
        return status === 429;
      });
      // The retry of an event that is stored already is no new event.
      expect((await send(after, ingest, ['t1'])).body).toMatchObject({ accepted: 0, duplicates: 1 });
      await projecting.reached();
      const range = 'startDate=2026-01-01&endDate=2026-12-31';
      const { metrics } = (await after.call(`/v2/organization/metrics?${range}`, { key: read })).body;
      expect(metrics).toMatchObject({ newThreats: LIMIT + accepted });
    } finally {
      await projecting.stop();
      await after.close();
    }
  });
});
