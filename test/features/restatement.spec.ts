import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rebuild } from '../../projections/engine/rebuild.js';
import { verify } from '../../projections/engine/verify.js';
import { metrics } from '../../projections/metrics/projection.js';
import { PROJECTIONS } from '../../projections/registry.js';
import { KeyRing } from '../../src/api-keys/key-ring.js';
import { copyLog } from '../../src/event-log/copy-log.js';
import { startApp, type TestApp } from '../support/app.js';
import { beginErasureEarlier } from '../support/begin-erasure-earlier.js';
import type { ApiResponse } from '../support/call.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { operatorCall } from '../support/operator-call.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { projectToHead, startProjecting } from '../support/projecting.js';
import { eventId, report, type Sent, sent, sentReport, sentStatus, sentThreat, stored } from '../support/upstream.js';

// Most tests start the service and read the whole log several times.
jest.setTimeout(120_000);

const FEBRUARY = 'startDate=2026-02-01&endDate=2026-02-28';
const CREATED = '2026-02-10T10:00:00.000Z';
const MARCH_1 = '2026-03-01T00:00:00.000Z';
const APRIL_1 = '2026-04-01T00:00:00.000Z';
const OTHER_DAY = '2026-02-20T10:00:00.000Z';

let database: TestDatabase;
let app: TestApp;
let ingest: string;
let keys: { readonly acme: string; readonly other: string };

const open = async (): Promise<void> => {
  database = await createDatabase();
  app = await startApp({ databaseUrl: database.url });
  ingest = await app.issueKey({ scopes: ['ingest'] });
  keys = { acme: await app.issueKey({ organization: 'acme' }), other: await app.issueKey({ organization: 'other' }) };
  await database.pool.query('update log.events set recorded_at = $1', [Date.parse('2026-01-01T00:00:00Z')]);
};
const close = async (): Promise<void> => {
  await app.close();
  await database.drop();
};

/** Gives stored events their time in the log. The projector must not be running. */
const recordAt = (recordedAt: string, events: readonly Sent[]): Promise<unknown> =>
  database.pool.query('update log.events set recorded_at = $1 where event_id = any($2::uuid[])', [
    Date.parse(recordedAt),
    events.map(eventId),
  ]);
/** Sends events in one append, and gives the append its time in the log. The projector must not be running. */
const sendAt = async (recordedAt: string, ...events: readonly Sent[]): Promise<string> => {
  const answer = await report(app, ingest, events);
  await recordAt(recordedAt, events);
  return answer.headers.get('consistency-token')!;
};
const project = (): Promise<unknown> => projectToHead(app.log, app.pool);
const source = () => ({ pool: app.pool, log: app.log });

type Headers = Readonly<Record<string, string>>;
const call = (path: string, key = keys.acme, headers: Headers = {}): Promise<ApiResponse> =>
  app.call(`/v2/organization/metrics${path}`, { key, headers });
const BETWEEN = `${FEBRUARY}&from=${MARCH_1}&to=${APRIL_1}`;
// oxlint-disable-next-line typescript/no-explicit-any
const restate = async (query = BETWEEN, key = keys.acme): Promise<any> => {
  const { status, body } = await call(`/restatement?${query}`, key);
  expect([query, status, body]).toEqual([query, 200, body]);
  return body;
};
// oxlint-disable-next-line typescript/no-explicit-any
const list = async (query = BETWEEN, key = keys.acme): Promise<any[]> => {
  const { status, body } = await call(`/restatement/records?${query}`, key);
  expect([query, status, body]).toEqual([query, 200, body]);
  return body.items;
};
const causes = async (query = BETWEEN, key = keys.acme): Promise<[string, string, boolean][]> =>
  (await list(query, key)).map(({ id, cause, late }) => [id, cause, late]);

const own = (data: object, organization = 'acme') => ({
  organization,
  createdAt: CREATED,
  updatedAt: CREATED,
  ...data,
});
const url = (content: string, type = 'URL') => ({ type, content });
const threat = (threatId: string, data: object = {}, organization?: string): Sent =>
  sentThreat(threatId, own({ asset: url(`${threatId}.example`), status: 'BLOCKED', ...data }, organization));
const takedown = (takedownId: string, data: object = {}): Sent =>
  sent('TakedownFiled', own({ takedownId, asset: url('k.example'), brand: 'wallet', status: 'TODO', ...data }));
const entry = (changeId: string, createdAt: string, reviews: readonly string[], status = 'BLOCKED'): Sent =>
  sentStatus(changeId, {
    asset: url(`${changeId}.example`),
    status,
    brandReviews: reviews.map((review) => ({ organization: review.split(':')[0], brand: review.split(':')[1] })),
    createdAt,
  });
const LATER = { updatedAt: '2026-03-05T00:00:00.000Z' };
const LATEST = { updatedAt: '2026-03-06T00:00:00.000Z' };

const brandsOf = (organization: string): Sent[] => [
  sent('FeatureFlagChanged', { organization, flag: 'brands-metrics', enabled: true, updatedAt: CREATED }),
  ...['wallet', 'shop'].map((brand) =>
    sent('BrandRegistered', { organization, brand, name: brand, updatedAt: CREATED }),
  ),
];

/** Two states of one instant, the later one last: the organizations of the first cannot tell them apart. */
const [quiet, quieter] = [[], ['third:wallet']]
  .map((others) => entry('c-quiet', OTHER_DAY, ['acme:wallet', 'other:wallet', ...others]))
  .sort((a, b) => (eventId(a) < eventId(b) ? -1 : 1)) as [Sent, Sent];

/** One record for each way in which numbers about February change in March. */
const sendHistory = async (): Promise<void> => {
  await sendAt(
    '2026-02-25T00:00:00.000Z',
    ...brandsOf('acme'),
    ...brandsOf('other'),
    ...['stays', 'deleted', 'status', 'moved', 'out', 'type', 'back'].map((id) => threat(`t-${id}`)),
    sentReport('r-brand', own({ brands: ['wallet'] })),
    takedown('k-status'),
    takedown('k-brand', { asset: url('k-brand.example') }),
    entry('c-shared', CREATED, ['acme:wallet', 'other:wallet']),
    entry('c-joined', CREATED, ['other:wallet']),
    entry('c-left', CREATED, ['acme:wallet', 'other:wallet']),
    entry('c-gone', CREATED, ['acme:wallet', 'other:wallet']),
    entry('c-quiet', CREATED, ['other:wallet']),
  );
  await sendAt(
    '2026-03-05T00:00:00.000Z',
    threat('t-new'),
    sent('ThreatDeleted', { organization: 'acme', threatId: 't-deleted', deletedAt: LATER.updatedAt }),
    threat('t-status', { status: 'WATCHLISTED', ...LATER }),
    threat('t-moved', { createdAt: OTHER_DAY, ...LATER }),
    threat('t-out', { createdAt: MARCH_1, ...LATER }),
    threat('t-type', { asset: url('t-type.example', 'PAGE'), ...LATER }),
    threat('t-back', { status: 'PENDING', ...LATER }),
    threat('t-back', LATEST),
    sentReport('r-brand', own({ brands: ['shop'], ...LATER })),
    takedown('k-status', { status: 'COMPLETED', ...LATER }),
    takedown('k-brand', { asset: url('k-brand.example'), brand: 'shop', ...LATER }),
  );
  await sendAt('2026-03-06T00:00:00.000Z', threat('other-new', {}, 'other'));
  await sendAt(
    '2026-03-07T00:00:00.000Z',
    entry('c-joined', OTHER_DAY, ['acme:wallet', 'other:wallet']),
    entry('c-left', OTHER_DAY, ['other:wallet']),
    entry('c-other', CREATED, ['other:wallet']),
    quiet,
  );
  await sendAt('2026-03-12T00:00:00.000Z', quieter);
  // What happens to an entry that does not name acme any more is none of its business.
  await sendAt(
    '2026-03-20T00:00:00.000Z',
    ...['c-left', 'c-gone'].map((changeId) =>
      sent('AssetStatusChangeDeleted', {
        changeId,
        asset: url(`${changeId}.example`),
        deletedAt: '2026-03-20T00:00:00Z',
      }),
    ),
  );
};

const expectSums = ({ difference, changes, then, now }: any): void => {
  for (const [metric, { late, corrected }] of Object.entries<any>(changes.metrics)) {
    expect([metric, difference.metrics[metric]]).toEqual([metric, now.metrics[metric] - then.metrics[metric]]);
    const sum = late.added - late.removed + corrected.added - corrected.removed;
    expect([metric, sum]).toEqual([metric, difference.metrics[metric]]);
  }
  for (const { type, late, corrected } of changes.blockedByType) {
    const { count = 0 } = difference.blockedByType.find((each: any) => each.type === type) ?? {};
    const sum = late.added - late.removed + corrected.added - corrected.removed;
    expect([type, sum]).toEqual([type, count]);
  }
};

describe('GET /v2/organization/metrics/restatement', () => {
  beforeAll(async () => {
    await open();
    await sendHistory();
    await project();
  });
  afterAll(close);

  it('returns both bodies of the metrics, their difference, days and changes', async () => {
    const body = await restate();
    for (const [name, instant] of [
      ['then', MARCH_1],
      ['now', APRIL_1],
    ] as const)
      expect(body[name]).toEqual((await call(`?${FEBRUARY}&knownAt=${instant}`)).body);
    expect([body.then.metrics, body.now.metrics]).toMatchObject([
      { newThreats: 7, threatsWatchlisted: 0, reports: 1, takedownsFiled: 2, takedownsCompleted: 0 },
      { newThreats: 5, threatsWatchlisted: 1, reports: 1, takedownsFiled: 2, takedownsCompleted: 1 },
    ]);
    expect(body.difference.metrics).toMatchObject({
      reports: 0,
      newThreats: -2,
      threatsWatchlisted: 1,
      takedownsFiled: 0,
      takedownsCompleted: 1,
      domainThreats: -2,
      otherThreats: 0,
    });
    expect(body.difference.blockedByType).toEqual([
      { type: 'PAGE', count: 1 },
      { type: 'URL', count: -3 },
    ]);
    expect(body.days).toEqual([
      { date: '2026-02-10', then: 7, now: 4 },
      { date: '2026-02-20', then: 0, now: 1 },
    ]);
    // Removed: deleted, status, out, moved and type; added: new, moved and type.
    expect(body.changes.metrics.newThreats).toEqual({
      late: { added: 1, removed: 0 },
      corrected: { added: 2, removed: 5 },
    });
    expect(body.changes.blockedByType).toEqual([
      { type: 'PAGE', late: { added: 0, removed: 0 }, corrected: { added: 1, removed: 0 } },
      { type: 'URL', late: { added: 1, removed: 0 }, corrected: { added: 1, removed: 5 } },
    ]);
    expectSums(body);
    expectSums(await restate(`${BETWEEN}&brandSlug=wallet`));
    expectSums(await restate(`from=${MARCH_1}&to=${APRIL_1}`));
  });

  it('lists each record that counts otherwise, with its cause, the last change first', async () => {
    const items = await list();
    expect(items.map(({ id, cause, late }) => [id, cause, late])).toEqual([
      ['k-status', 'status', false],
      ['t-type', 'type', false],
      ['t-out', 'moved', false],
      ['t-moved', 'moved', false],
      ['t-status', 'status', false],
      ['t-deleted', 'deleted', false],
      ['t-new', 'new', true],
    ]);
    const blocked = (at: string, type = 'URL') => ({ metric: 'newThreats', type, at });
    const filed = { metric: 'takedownsFiled', type: null, at: CREATED };
    expect(items.map(({ then, now }) => [then, now])).toEqual([
      [[filed], [filed, { metric: 'takedownsCompleted', type: null, at: CREATED }]],
      [[blocked(CREATED)], [blocked(CREATED, 'PAGE')]],
      [[blocked(CREATED)], []],
      [[blocked(CREATED)], [blocked(OTHER_DAY)]],
      [[blocked(CREATED)], [{ metric: 'threatsWatchlisted', type: null, at: CREATED }]],
      [[blocked(CREATED)], []],
      [[], [blocked(CREATED)]],
    ]);
    for (const { kind, id, asset, changedAt } of items) {
      expect([id, changedAt]).toEqual([id, '2026-03-05T00:00:00.000Z']);
      expect([id, kind]).toEqual([id, id.startsWith('k') ? 'takedown' : 'threat']);
      expect([id, asset !== undefined]).toEqual([id, id !== 't-deleted']);
    }
    expect(items[1].asset).toEqual({ type: 'PAGE', content: 't-type.example' });
  });

  it('lists the records of a brand, and never the facts or brands of another organization', async () => {
    const brand = `${BETWEEN}&brandSlug=wallet`;
    const items = await list(brand);
    expect(items.map(({ id, cause, late }) => [id, cause, late])).toEqual([
      ['c-gone', 'deleted', false],
      ['c-quiet', 'new', true],
      ['c-left', 'brand', false],
      ['c-joined', 'new', true],
      ['k-brand', 'brand', false],
      ['k-status', 'status', false],
      ['r-brand', 'brand', false],
    ]);
    expect(items.slice(0, 3).map(({ changedAt }) => changedAt)).toEqual([
      '2026-03-20T00:00:00.000Z',
      '2026-03-07T00:00:00.000Z',
      '2026-03-07T00:00:00.000Z',
    ]);
    expect(JSON.stringify(items)).not.toContain('other');
    const ofOther = await list(brand, keys.other);
    expect(ofOther.map(({ id, cause }) => [id, cause])).toEqual([
      ['c-gone', 'deleted'],
      ['c-left', 'deleted'],
      ['c-quiet', 'moved'],
      ['c-other', 'new'],
      ['c-joined', 'moved'],
    ]);
    expect(JSON.stringify(ofOther)).not.toContain('acme');
    expect(await causes(BETWEEN, keys.other)).toEqual([['other-new', 'new', true]]);
  });

  it('calls a record corrected that was first stored within the range or before from', async () => {
    const between = `startDate=2026-02-01&endDate=2026-03-31&from=${MARCH_1}&to=${APRIL_1}`;
    expect((await causes(between)).filter(([id]) => id === 't-new')).toEqual([['t-new', 'new', false]]);
    const { changes } = await restate(between);
    expect(changes.metrics.newThreats.late).toEqual({ added: 0, removed: 0 });
    const inRange = `${FEBRUARY}&from=2026-02-20T00:00:00Z&to=${MARCH_1}`;
    expect(new Set((await causes(inRange)).map(([, cause, late]) => `${cause} ${late}`))).toEqual(
      new Set(['new false']),
    );
  });

  it('is empty if from and to are equal, and if nothing was stored between them', async () => {
    for (const to of [MARCH_1, '2026-03-04T23:59:59.999Z']) {
      const query = `${FEBRUARY}&from=${MARCH_1}&to=${to}`;
      const { then, now, difference, days, changes } = await restate(query);
      expect(now).toEqual(then);
      expect([days, difference.blockedByType, changes.blockedByType]).toEqual([[], [], []]);
      expect(new Set(Object.values(difference.metrics))).toEqual(new Set([0]));
      expect(await list(query)).toEqual([]);
    }
  });

  it('compares with the present without to, and takes tokens for from and to', async () => {
    const token = (await call(`?${FEBRUARY}`)).headers.get('consistency-token')!;
    expect(await restate(`${FEBRUARY}&from=${MARCH_1}`)).toEqual(await restate());
    expect(await restate(`${FEBRUARY}&from=${MARCH_1}&to=${token}`)).toEqual(await restate());
    const same = await restate(`${FEBRUARY}&from=${token}`);
    expect(same.then).toEqual(same.now);
    const { headers } = await call(`/restatement?${BETWEEN}`);
    expect([headers.get('known-at'), headers.get('consistency-token')]).toEqual([APRIL_1, null]);
    expect(headers.get('x-as-of')).toMatch(/Z$/);
    const known = { 'if-none-match': headers.get('etag')! };
    for (const path of ['restatement', 'restatement/records', 'restatement/records.csv']) {
      const tag = (await call(`/${path}?${BETWEEN}`)).headers.get('etag')!;
      expect([path, (await call(`/${path}?${BETWEEN}`, keys.acme, { 'if-none-match': tag })).status]).toEqual([
        path,
        304,
      ]);
    }
    expect(
      (await call(`/restatement?${FEBRUARY}&from=${MARCH_1}&to=2026-03-02T00:00:00Z`, keys.acme, known)).status,
    ).toBe(200);
  });

  it('names a later state that is a valid to, also if nothing was stored since from', async () => {
    const from = new Date().toISOString();
    for (const path of ['restatement', 'restatement/records', 'restatement/records.csv']) {
      const { headers, status } = await call(`/${path}?${FEBRUARY}&from=${from}`);
      expect([path, status, headers.get('known-at')]).toEqual([path, 200, from]);
      expect((await call(`/${path}?${FEBRUARY}&from=${from}&to=${headers.get('known-at')}`)).status).toBe(200);
    }
  });

  it.each([
    ['without from', FEBRUARY, 400],
    ['with from after to', `${FEBRUARY}&from=${APRIL_1}&to=${MARCH_1}`, 400],
    [
      'with from 1 ms after to although nothing was stored meanwhile',
      `${FEBRUARY}&from=2026-03-20T00:00:00.001Z&to=2026-03-20T00:00:00Z`,
      400,
    ],
    ['with a token that is after to', `${FEBRUARY}&from=TOKEN&to=${MARCH_1}`, 400],
    ['with from ahead', `${FEBRUARY}&from=2999-01-01T00:00:00Z`, 400],
    ['with to ahead', `${FEBRUARY}&from=${MARCH_1}&to=2999-01-01T00:00:00Z`, 400],
    ['with from that is neither', `${FEBRUARY}&from=never`, 400],
    ['with to as a plain date', `${FEBRUARY}&from=${MARCH_1}&to=2026-04-01`, 400],
    ['with to without a zone', `${FEBRUARY}&from=${MARCH_1}&to=2026-04-01T00:00:00`, 400],
    ['with from repeated', `${BETWEEN}&from=${MARCH_1}`, 400],
    ['with a start after the end', `startDate=2026-02-02&endDate=2026-02-01&from=${MARCH_1}`, 400],
    ['for an unknown brand', `${BETWEEN}&brandSlug=unknown`, 404],
  ])('is refused %s', async (_, query, expected) => {
    const token = (await call(`?${FEBRUARY}`)).headers.get('consistency-token')!;
    for (const path of ['restatement', 'restatement/records', 'restatement/records.csv']) {
      const { status, body } = await call(`/${path}?${query.replace('TOKEN', token)}`);
      expect([path, status, body.message]).toEqual([path, expected, body.message]);
    }
  });

  it('pages through the records, and keeps to while events arrive', async () => {
    const whole = await list(`${FEBRUARY}&from=${MARCH_1}`);
    expect(whole).toEqual(await list());
    const query = `${FEBRUARY}&from=${MARCH_1}&limit=2`;
    const found: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < 10; page += 1) {
      const { body, status } = await call(`/restatement/records?${query}${cursor ? `&cursor=${cursor}` : ''}`);
      expect([page, status]).toEqual([page, 200]);
      found.push(...body.items);
      cursor = body.nextCursor;
      if (cursor === undefined) break;
      expect(body.items).toHaveLength(2);
      if (page === 0) {
        const changed = [threat('t-page'), threat('t-stays', { status: 'PENDING', updatedAt: '2026-04-02T00:00:00Z' })];
        await sendAt(
          '2026-04-02T00:00:00.000Z',
          ...changed,
          threat('t-new', { status: 'PENDING', updatedAt: '2026-04-02T00:00:00Z' }),
        );
        await project();
        const foreign = await call(`/restatement/records?${query}&cursor=${cursor}`, keys.other);
        expect(foreign.status).toBe(400);
        expect((await call(`/restatement/records?${FEBRUARY}&from=${APRIL_1}&cursor=${cursor}`)).status).toBe(400);
      }
    }
    expect(found).toEqual(whole.map(({ ...item }) => item));
    expect((await list(`${FEBRUARY}&from=${APRIL_1}`)).map(({ id }) => id)).toEqual(['t-new', 't-stays', 't-page']);
    for (const limit of ['0', '1001', 'x', '-1'])
      expect([limit, (await call(`/restatement/records?${BETWEEN}&limit=${limit}`)).status]).toEqual([limit, 400]);
    expect((await call(`/restatement/records?${BETWEEN}&cursor=never`)).status).toBe(400);
  });

  it('have a cursor of their own if several requests share a page', async () => {
    const spellings = [MARCH_1, MARCH_1.replace('Z', '+00:00')].map((from) => encodeURIComponent(from));
    const paths = Array.from(
      { length: 8 },
      (_, n) => `/restatement/records?${FEBRUARY}&from=${spellings[n % 2]}&limit=2`,
    );
    const pages = await Promise.all(paths.map((path) => call(path)));
    const next = await Promise.all(pages.map(({ body }, n) => call(`${paths[n]}&cursor=${body.nextCursor}`)));
    expect(next.map(({ status }) => status)).toEqual(paths.map(() => 200));
  });

  it('are not paged while the read models do not include the state of the cursor', async () => {
    const query = `${FEBRUARY}&from=${MARCH_1}&limit=1`;
    const { body } = await call(`/restatement/records?${query}`);
    const next = `/restatement/records?${query}&cursor=${body.nextCursor}`;
    expect((await call(next)).status).toBe(200);
    const { rows } = await app.pool.query<{ position: number }>(
      `update read.checkpoints set position = position - 1 where projection = 'metrics' returning position`,
    );
    const waiting = await call(next, keys.acme, { prefer: 'wait=0' });
    expect([waiting.status, waiting.headers.get('retry-after')]).toEqual([503, '1']);
    await app.pool.query(`update read.checkpoints set position = $1 where projection = 'metrics'`, [
      rows[0]!.position + 1,
    ]);
    expect((await call(next)).status).toBe(200);
  });

  it('name a malformed parameter before one that is of another log', async () => {
    const another = await startApp();
    const upstream = await another.issueKey({ scopes: ['ingest'] });
    const foreign = (await report(another, upstream, [threat('t-1')])).headers.get('consistency-token')!;
    await another.close();
    for (const [from, to] of [
      [foreign, 'garbage'],
      ['garbage', foreign],
    ]) {
      const answer = await call(`/restatement?${FEBRUARY}&from=${from}&to=${to}`);
      expect([from, to, answer.status]).toEqual([from, to, 400]);
    }
    expect((await call(`/restatement?${FEBRUARY}&from=${foreign}&to=${foreign}`)).status).toBe(410);
  });

  it('is a table with Accept or as .csv', async () => {
    const negotiated = await call(`/restatement/records?${BETWEEN}`, keys.acme, { accept: 'text/csv' });
    const table = await call(`/restatement/records.csv?${BETWEEN}`);
    expect(table.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect(table.body).toBe(negotiated.body);
    const lines = table.body.split('\r\n');
    expect(lines[0]).toBe('kind,id,asset.type,asset.content,cause,late,changedAt,then,now');
    expect(lines).toHaveLength(9);
    expect(lines[4]).toBe(
      `threat,t-moved,URL,t-moved.example,moved,false,2026-03-05T00:00:00.000Z,newThreats URL ${CREATED},newThreats URL ${OTHER_DAY}`,
    );
  });

  it('has no more contents on a page, and in a table, than fit into memory', async () => {
    const organization = 'wide';
    const key = await app.issueKey({ organization });
    // The endpoint would hold so many events until they are counted.
    const store = async (ids: readonly string[]): Promise<void> => {
      const wide = ids.map((id) =>
        threat(id, { asset: url(`${id} ${'\u{1f600}'.repeat(2_040)}`, 'OTHER') }, organization),
      );
      await app.log.appendAll(wide.map(stored));
      await recordAt('2026-04-03T00:00:00.000Z', wide);
      await project();
    };
    const ids = Array.from({ length: 300 }, (_, n) => `w-${n}`);
    await store(ids);
    const found: string[] = [];
    const sizes: number[] = [];
    for (let cursor = ''; ;) {
      const { status, body } = await call(`/restatement/records?${FEBRUARY}&from=${MARCH_1}&limit=1000${cursor}`, key);
      expect(status).toBe(200);
      found.push(...body.items.map(({ id }: { id: string }) => id));
      sizes.push(body.items.length);
      if (body.nextCursor === undefined) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    // 129 contents of 8,164 bytes have 1 MiB.
    expect(sizes).toEqual([129, 129, 42]);
    expect(found.toSorted()).toEqual(ids.toSorted());
    expect((await call(`/restatement/records.csv?${FEBRUARY}&from=${MARCH_1}`, key)).body.split('\r\n')).toHaveLength(
      302,
    );
    await store(Array.from({ length: 230 }, (_, n) => `v-${n}`));
    const refused = await call(`/restatement/records.csv?${FEBRUARY}&from=${MARCH_1}`, key);
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'A table has at most 10000 rows and 4 MiB of contents; request a shorter range, or pages of JSON',
    ]);
  });

  it('gives the same answers after a rebuild', async () => {
    expect(await verify(source(), [metrics])).toEqual([]);
    const answers = async () => [
      await restate(),
      await list(),
      await list(`${BETWEEN}&brandSlug=wallet`),
      await list(`${BETWEEN}&brandSlug=wallet`, keys.other),
    ];
    const before = await answers();
    await rebuild(source(), [metrics]);
    expect(await answers()).toEqual(before);
  });
});

describe('Operations on the log, and the past', () => {
  beforeEach(async () => {
    await open();
    await sendHistory();
    await project();
  });
  afterEach(close);

  const operate = (...words: string[]) => operatorCall({ DATABASE_URL: database.url }, ...words);

  it('redacted contents stay redacted in records, and all counts stay', async () => {
    const projecting = startProjecting(app.log, app.pool);
    try {
      const [before, records] = [await restate(), await list()];
      expect(await operate('assets', 'redact', 't-moved.example')).toMatchObject({ code: 0 });
      await projecting.reached();
      expect(await restate()).toEqual(before);
      const after = await list();
      const withoutAsset = (record: object): object => ({ ...record, asset: undefined });
      expect(after.map(withoutAsset)).toEqual(records.map(withoutAsset));
      expect(JSON.stringify(records)).toContain('t-moved.example');
      expect(JSON.stringify(after)).not.toContain('t-moved.example');
      expect((await call(`/restatement/records.csv?${BETWEEN}`)).body).not.toContain('t-moved.example');
      expect(await verify(source(), PROJECTIONS)).toEqual([]);
    } finally {
      await projecting.stop();
    }
  });

  it('an erased organization has no past, and the past of others stays', async () => {
    const projecting = startProjecting(app.log, app.pool);
    try {
      const brand = `${BETWEEN}&brandSlug=wallet`;
      const before = [await restate(brand, keys.other), await list(brand, keys.other)];
      await beginErasureEarlier();
      expect(await operate('organizations', 'erase', 'acme', '--confirm', 'acme')).toMatchObject({ code: 0 });
      await projecting.reached();
      await app.app.get(KeyRing).refresh();
      for (const table of ['records', 'facts', 'former_states', 'former_facts']) {
        const { rows } = await database.pool.query(
          `select t::text as line from read.${table} t where t::text like '%acme%'`,
        );
        expect([table, rows]).toEqual([table, []]);
      }
      expect((await call(`?${FEBRUARY}&knownAt=${MARCH_1}`)).status).toBe(401);
      expect((await call(`/restatement?${BETWEEN}`)).status).toBe(401);
      expect([await restate(brand, keys.other), await list(brand, keys.other)]).toEqual(before);
      expect(await verify(source(), PROJECTIONS)).toEqual([]);
      await rebuild(source(), [metrics]);
      expect([await restate(brand, keys.other), await list(brand, keys.other)]).toEqual(before);
    } finally {
      await projecting.stop();
    }
  });

  it('a copied log and an imported organization have the same present, and rows that verify', async () => {
    const target = new InMemoryEventLog();
    await copyLog(app.log, target);
    const [copy, imported] = [await createDatabase(), await startApp()];
    const folder = mkdtempSync(join(tmpdir(), 'restatement-'));
    try {
      expect(await projectToHead(target, copy.pool)).toEqual([]);
      expect(await verify({ pool: copy.pool, log: target }, PROJECTIONS)).toEqual([]);
      const former = `select organization, brand, at, measure, type, record from read.former_facts order by 1, 2, 3, 4, 5, 6`;
      const rows = (await database.pool.query(former)).rows;
      expect(rows.length).toBeGreaterThan(5);
      expect((await copy.pool.query(former)).rows).toEqual(rows);

      const file = join(folder, 'acme.jsonl.gz');
      expect(await operate('organizations', 'export', 'acme', '--to-file', file)).toMatchObject({ code: 0 });
      const env = { DATABASE_URL: imported.config.databaseUrl };
      expect(await operatorCall(env, 'organizations', 'import', file)).toMatchObject({ code: 0 });
      const key = await imported.issueKey({ organization: 'acme' });
      expect(await projectToHead(imported.log, imported.pool)).toEqual([]);
      expect(await verify({ pool: imported.pool, log: imported.log }, PROJECTIONS)).toEqual([]);
      const present = await imported.call(`/v2/organization/metrics?${FEBRUARY}`, { key });
      expect(present.body).toEqual((await call(`?${FEBRUARY}`)).body);
      const token = present.headers.get('consistency-token')!;
      const known = await imported.call(`/v2/organization/metrics?${FEBRUARY}&knownAt=${token}`, { key });
      expect(known.body).toEqual(present.body);
      const ofAcme = `select brand, at, measure, type, record from read.former_facts where organization = 'acme' order by 1, 2, 3, 4, 5`;
      expect((await imported.pool.query(ofAcme)).rows).toEqual((await database.pool.query(ofAcme)).rows);
    } finally {
      await imported.close();
      await copy.drop();
      rmSync(folder, { recursive: true });
    }
  });
});
