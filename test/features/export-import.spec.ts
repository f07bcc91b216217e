import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { BEGINNING } from '../../src/event-log/event-log.js';
import { startApp, type TestApp } from '../support/app.js';
import { sized } from '../support/full-size.js';
import { operatorCall } from '../support/operator-call.js';
import { projectToHead, startProjecting } from '../support/projecting.js';
import { Random } from '../support/random.js';
import { report, type Sent, sent, sentReport, sentStatus, sentThreat } from '../support/upstream.js';

const folder = mkdtempSync(join(tmpdir(), 'export-import-'));
const keyFile = join(folder, 'keys');
writeFileSync(keyFile, `${Buffer.alloc(32, 7).toString('base64')}\n`);
const DAY = 86_400_000;
const FIRST = Date.parse('2026-01-01T00:00:00Z');
const RANGES = sized(25, 1_000);

let before: TestApp;
let after: TestApp;
beforeAll(async () => {
  const env = { WEBHOOK_MASTER_KEY_FILE: keyFile };
  [before, after] = [await startApp({ env }), await startApp({ env })];
});
afterAll(async () => {
  await before.close();
  await after.close();
  rmSync(folder, { recursive: true });
});

const generator = new Random(7);
const random = (): number => generator.next();
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
const instant = (): string => new Date(FIRST + Math.floor(random() * 60 * DAY)).toISOString();

/** Events of organizations with equal ids, brands and assets, in a random order, some of them deletions. */
const history = (organizations: readonly string[]): Sent[] => {
  const brand = (): string => pick(['wallet', 'shop']);
  const events = organizations.flatMap((organization) => [
    ...['wallet', 'shop'].map((slug) =>
      sent('BrandRegistered', { organization, brand: slug, name: `${slug} of ${organization}`, updatedAt: instant() }),
    ),
    sent('FeatureFlagChanged', { organization, flag: 'brands-metrics', enabled: true, updatedAt: instant() }),
    ...Array.from({ length: 60 }, (_, n) => {
      const createdAt = instant();
      const asset = { type: 'URL', content: `site-${n % 20}.example` };
      const times = { createdAt, updatedAt: createdAt };
      return [
        sentReport(`r${n}`, { organization, brands: [brand()], ...times }),
        sentThreat(`t${n % 40}`, {
          organization,
          asset,
          status: pick(['BLOCKED', 'APPROVED', 'WATCHLISTED']),
          ...times,
        }),
        sent('TakedownFiled', {
          organization,
          takedownId: `d${n}`,
          brand: brand(),
          asset,
          status: pick(['TODO', 'COMPLETED']),
          ...times,
        }),
        ...(n % 9 === 0
          ? [sent('ReportDeleted', { organization, reportId: `r${n}`, deletedAt: '2026-05-01T00:00:00Z' })]
          : []),
        sentStatus(`v${organizations.indexOf(organization)}-${n % 30}`, {
          asset,
          brandReviews: [
            { organization, brand: brand() },
            { organization: pick(organizations), brand: brand() },
          ],
          createdAt,
        }),
        ...(n % 7 === 0
          ? [
              sent('AssetStatusChangeDeleted', {
                changeId: `v${organizations.indexOf(organization)}-${n % 30}`,
                asset,
                deletedAt: createdAt,
              }),
            ]
          : []),
      ];
    }).flat(),
  ]);
  return events
    .map((event) => ({ event, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ event }) => event);
};

const callOf = (app: TestApp, organization: string, key: string) => (method: string, path: string, json?: unknown) =>
  app.call(`/v2/organization${path}`, { method, key, json }).then(({ status, body }) => {
    if (status >= 300) throw new Error(`${organization} ${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  });

/** The responses to every query about an organization. */
const answers = async (app: TestApp, organization: string): Promise<Record<string, unknown>> => {
  const call = callOf(app, organization, await app.issueKey({ organization }));
  const ranges = new Random(11);
  const found: Record<string, unknown> = {};
  const ask = async (path: string): Promise<void> => {
    // Cursors, times, keys and quotas belong to one installation.
    const { key: _key, limits: _limits, nextCursor: _next, asOf: _asOf, ...body } = await call('GET', path);
    found[path] = body;
  };
  for (let range = 0; range < RANGES; range++) {
    const start = FIRST + ranges.int(60 * DAY);
    const end = start + ranges.int(30 * DAY);
    const dates = `startDate=${new Date(start).toISOString()}&endDate=${new Date(end).toISOString()}`;
    await ask(`/metrics?${dates}${range % 3 === 0 ? '&brand=wallet' : ''}`);
  }
  const dates = 'startDate=2026-01-01&endDate=2026-03-15';
  for (const path of ['', '/brands', '/asset-groups', '/asset-groups/1', '/asset-groups/1/assets', '/webhooks'])
    await ask(path);
  for (const kind of ['reports', 'threats', 'takedowns', 'verdicts']) await ask(`/${kind}?limit=200`);
  for (const path of ['/metrics/timeline', '/metrics/comparison', '/takedowns/statistics'])
    await ask(`${path}?${dates}`);
  return found;
};

it('an organization that is imported into an empty installation answers every query as before', async () => {
  const ingest = await before.issueKey({ scopes: ['ingest'] });
  const events = history(['acme', 'acme-2', 'beta']);
  for (let from = 0; from < events.length; from += 500) await report(before, ingest, events.slice(from, from + 500));
  const projecting = startProjecting(before.log, before.pool);
  await projecting.reached();
  for (const organization of ['acme', 'beta']) {
    const call = callOf(before, organization, await before.issueKey({ organization }));
    for (const name of ['Drainers', 'Deleted', 'Fakes'])
      await call('POST', '/asset-groups', { name: `${name} of ${organization}` });
    await call('POST', '/asset-groups/1/assets', { contents: ['a.example', `b-${organization}.example`] });
    await call('POST', '/webhooks', { url: `https://${organization}.example/hooks` });
  }
  await projecting.reached().finally(() => projecting.stop());
  const expected = await answers(before, 'acme');

  const call = (app: TestApp, ...words: string[]) =>
    operatorCall(
      {
        DATABASE_URL: app.config.databaseUrl,
        ...(app.config.eventStoreUrl && { EVENTSTORE_URL: app.config.eventStoreUrl }),
      },
      'organizations',
      ...words,
      '--json',
    );
  const file = join(folder, 'acme.jsonl.gz');
  const counted = await call(before, 'export', 'acme', '--to-file', file, '--dry-run');
  expect(counted).toMatchObject({ code: 0 });
  expect(existsSync(file)).toBe(false);
  const exported = await call(before, 'export', 'acme', '--to-file', file);
  expect(exported).toMatchObject({ code: 0 });
  const { events: count } = JSON.parse(exported.out) as { events: number };
  expect(JSON.parse(counted.out)).toMatchObject({ organization: 'acme', events: count, dryRun: true });
  const text = gunzipSync(readFileSync(file)).toString();
  expect(text.match(/.{0,40}(?:beta|acme-2|whsec_|ApiKey)/g)).toBeNull();

  const dryRun = await call(after, 'import', file, '--dry-run');
  expect(JSON.parse(dryRun.out)).toMatchObject({ organization: 'acme', events: count, present: 0, dryRun: true });
  const imported = await call(after, 'import', file);
  expect(JSON.parse(imported.out)).toMatchObject({ events: count, present: 0, stored: count });
  expect(await projectToHead(after.log, after.pool)).toEqual([]);
  const found = await answers(after, 'acme');
  for (const [path, body] of Object.entries(expected)) expect([path, found[path]]).toEqual([path, body]);

  const repeated = await call(after, 'import', file);
  expect(JSON.parse(repeated.out)).toMatchObject({ present: count, stored: 0 });
  const stored = await after.log.readAll(BEGINNING, 5_000);
  expect(stored.filter(({ stream }) => !/^(?:operations|apiKeys)$/.test(stream))).toHaveLength(count);
}, 300_000);

it('a call with a wrong slug, a missing file or a damaged file fails and says why', async () => {
  const call = (...words: string[]) =>
    operatorCall({ DATABASE_URL: after.config.databaseUrl }, 'organizations', ...words);
  expect(await call('export', 'Acme', '--to-file', join(folder, 'no'))).toMatchObject({
    code: 2,
    err: expect.stringContaining('must be a slug'),
  });
  expect(await call('export', 'nobody', '--to-file', join(folder, 'no'))).toMatchObject({
    code: 1,
    err: expect.stringContaining('The log has no event of nobody\n'),
  });
  expect(await call('import', join(folder, 'no'))).toMatchObject({
    code: 1,
    err: expect.stringContaining('cannot be read'),
  });
  expect(await call('import', keyFile)).toMatchObject({
    code: 1,
    err: expect.stringContaining('The file cannot be decompressed'),
  });
});
