import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import type { CallOptions } from '../support/call.js';
import { readReference } from '../support/contract.js';
import { eventually } from '../support/eventually.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { projectToHead } from '../support/projecting.js';
import { cloudEvent, sent } from '../support/upstream.js';
import { whileLocked } from '../support/while-locked.js';

interface Request extends Omit<CallOptions, 'key'> {
  readonly path: string;
}

const GROUPS = '/v2/organization/asset-groups';
const WEBHOOKS = '/v2/organization/webhooks';
const webhook = (n: number): string => `${WEBHOOKS}/wh_${String(n).padStart(24, '0')}`;
const report = (organization: string, n: number): object => {
  const at = '2026-03-01T00:00:00Z';
  return cloudEvent(sent('ReportFiled', { organization, reportId: `${n}`, createdAt: at, updatedAt: at }));
};

/** A request of every route with a key, each number another question, if the route can be asked more than one. */
const REQUESTS: Readonly<Record<string, (n: number, organization: string) => Request>> = {
  checkAsset: (n) => ({ path: '/v2/asset/check', json: { content: `${n}.example` } }),
  checkAssets: (n) => ({ path: '/v2/asset/check/bulk', json: { contents: [`${n}.example`] } }),
  getAssetHistory: (n) => ({ path: '/v2/asset/history', json: { content: `${n}.example` } }),
  getOrganization: () => ({ path: '/v2/organization' }),
  listBrands: () => ({ path: '/v2/organization/brands' }),
  getMetrics: (n) => ({ path: `/v2/organization/metrics?endDate=${2000 + n}-01-01` }),
  getTimeline: (n) => ({ path: `/v2/organization/metrics/timeline?interval=year&endDate=${2000 + n}-01-01` }),
  compareMetrics: (n) => ({
    path: `/v2/organization/metrics/comparison?startDate=${2000 + n}-01-01&endDate=${2000 + n}-02-01`,
  }),
  getTakedownStatistics: (n) => ({ path: `/v2/organization/takedowns/statistics?endDate=${2000 + n}-01-01` }),
  ...Object.fromEntries(
    ['Report', 'Threat', 'Takedown', 'Verdict'].flatMap((kind) => {
      const list = `/v2/organization/${kind.toLowerCase()}s`;
      const upTo = (n: number): string => `?endDate=${2000 + n}-01-01`;
      return [
        [`list${kind}s`, (n: number) => ({ path: `${list}${upTo(n)}` })],
        [`get${kind}Table`, (n: number) => ({ path: `${list}.csv${upTo(n)}` })],
        [`get${kind}`, (n: number) => ({ path: `${list}/record-${n}` })],
      ];
    }),
  ),
  getTimelineTable: (n) => ({ path: `/v2/organization/metrics/timeline.csv?interval=year&endDate=${2000 + n}-01-01` }),
  getFeed: (n) => ({ path: `/v2/organization/feed?limit=${n + 1}` }),
  listAssetGroups: () => ({ path: GROUPS }),
  createAssetGroup: (n) => ({ path: GROUPS, json: { name: `Group ${n}` } }),
  renameAssetGroup: (n) => ({ path: `${GROUPS}/${n + 1}`, method: 'PATCH', json: { name: `Renamed ${n}` } }),
  deleteAssetGroup: (n) => ({ path: `${GROUPS}/${n + 1}`, method: 'DELETE' }),
  getAssetGroup: (n) => ({ path: `${GROUPS}/${n + 1}` }),
  listGroupAssets: (n) => ({ path: `${GROUPS}/${n + 1}/assets` }),
  assignAssets: (n) => ({ path: `${GROUPS}/${n + 1}/assets`, json: { contents: [`${n}.example`] } }),
  unassignAssets: (n) => ({ path: `${GROUPS}/${n + 1}/assets/remove`, json: { contents: [`${n}.example`] } }),
  listRejectedEvents: (n) => ({ path: `/v2/events/rejected?limit=${1 + n}` }),
  listParkedEvents: (n) => ({ path: `/v2/events/parked?limit=${1 + n}` }),
  getEventStatus: (n, organization) => ({
    path: '/v2/events/status',
    json: { events: [{ source: 's', id: `${n}`, type: 'ThreatDeleted', record: { organization, threatId: `${n}` } }] },
  }),
  getEventUsage: (n) => ({
    path: `/v2/events/usage?from=${new Date(Date.now() - n * 86_400_000).toISOString().slice(0, 10)}`,
  }),
  listWebhooks: () => ({ path: WEBHOOKS }),
  createWebhook: (n) => ({ path: WEBHOOKS, json: { url: `https://receiver.example/${n}` } }),
  getWebhook: (n) => ({ path: webhook(n) }),
  changeWebhook: (n) => ({ path: webhook(n), method: 'PATCH', json: { batch: 1 + n } }),
  deleteWebhook: (n) => ({ path: webhook(n), method: 'DELETE' }),
  rotateWebhookSecret: (n) => ({ path: `${webhook(n)}/rotate`, json: {} }),
  testWebhook: (n) => ({ path: `${webhook(n)}/test`, json: {} }),
  replayWebhook: (n) => ({ path: `${webhook(n)}/replay`, json: { from: 'beginning' } }),
  listWebhookAttempts: (n) => ({ path: `${webhook(n)}/attempts` }),
  sendEvents: (n, organization) => ({
    path: '/v2/events',
    json: [report(organization, n)],
    headers: { 'content-type': 'application/cloudevents-batch+json' },
  }),
};
/** What these answer does not come from the read models. */
const ANSWERED_WITHOUT = ['checkAsset', 'checkAssets', 'sendEvents'];

const WAITING = 40;

const folder = mkdtempSync(join(tmpdir(), 'turns-'));
const keyFile = join(folder, 'keys');

let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  database = await createDatabase({ pooled: false });
  writeFileSync(keyFile, `${Buffer.alloc(32, 7).toString('base64')}\n`);
  app = await startApp({ databaseUrl: database.url, env: { WEBHOOK_MASTER_KEY_FILE: keyFile } });
  // Lists answer once they have been filled for the first time, and then ask no more whether they are.
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

/** Holds every statement on the read models while `work` is done. */
const whileHeld = async (work: () => Promise<void>): Promise<void> => {
  const { rows } = await database.pool.query<{ name: string }>(
    `select 'read.' || quote_ident(tablename) as name from pg_tables where schemaname = 'read' and tablename <> 'checkpoints'`,
  );
  await whileLocked(
    database.pool,
    rows.map(({ name }) => name),
    work,
  );
};

/** Statements of requests that are held. Followers read one table of their own; requests write nothing themselves. */
const held = async (): Promise<number> => {
  const { rows } = await database.pool.query<{ n: number }>(
    `select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and query !~* '^\\s*(insert|delete)|asset_statuses|ingest_usage|key_uses'`,
  );
  return rows[0]!.n;
};

/** How many are held once no more come: a second statement may wait for its connection to be made. */
const heldInTheEnd = async (): Promise<number> => {
  let most = 0;
  for (let looks = 0; looks < 10; looks += 1) {
    const now = await held();
    if (now > most) [most, looks] = [now, 0];
    await sleep(10);
  }
  return most;
};

const newOrganization = async () => {
  const organization = `org-${randomUUID().slice(0, 8)}`;
  const key = await app.issueKey({ organization, scopes: ['read', 'write', 'ingest'] });
  return async (operation: string, n: number): Promise<number> => {
    const { path, ...options } = REQUESTS[operation]!(n, organization);
    return (await app.call(path, { ...options, key })).status;
  };
};

describe('The turns of an organization', () => {
  it('are taken by every route that needs a key', () => {
    const operations = Object.entries(readReference().paths).flatMap(([, methods]) =>
      Object.values(methods).flatMap(({ operationId, security }) =>
        security?.length && operationId ? [operationId] : [],
      ),
    );
    expect(Object.keys(REQUESTS).sort()).toEqual(operations.sort());
  });

  it.each(ANSWERED_WITHOUT)('are not needed by %s, which answers while every statement hangs', async (operation) => {
    const ask = await newOrganization();
    await whileHeld(async () => {
      expect(await ask(operation, 1)).toBe(200);
    });
  });

  it.each(Object.keys(REQUESTS).filter((operation) => !ANSWERED_WITHOUT.includes(operation)))(
    'leave connections to others, however often one asks for %s',
    async (operation) => {
      const [noisy, quiet] = [await newOrganization(), await newOrganization()];
      const asked: Promise<number>[] = [];
      let other: Promise<number>;
      await whileHeld(async () => {
        for (let n = 0; n < WAITING; n += 1) asked.push(noisy(operation, n));
        await eventually('its statements hang', async () => (await held()) > 0);
        const most = await heldInTheEnd();
        expect(most).toBeLessThanOrEqual(2);
        other = quiet(operation, 1);
        await eventually('the other one has a connection', async () => (await held()) > most);
      });
      expect([200, 201, 404]).toContain(await other!);
      for (const status of await Promise.all(asked)) expect([200, 201, 404, 409, 429, 503]).toContain(status);
    },
  );
});
