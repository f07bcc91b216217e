import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { rebuild } from '../../projections/engine/rebuild.js';
import { verify } from '../../projections/engine/verify.js';
import { PROJECTIONS } from '../../projections/registry.js';
import { eraseOrganization } from '../../src/cli/erasing/erase-organization.js';
import { startErasure, subjectOf } from '../../src/cli/erasing/find-organization.js';
import { redactAsset } from '../../src/cli/redacting/redact-asset.js';
import { LOCK_EVENTS, REWRITE_CONTENTS } from '../../src/event-log/postgres/rewriting.js';
import { COUNT_CHECKPOINTS_AT, SHADOW_SCHEMAS } from '../../src/read-models/erasures.js';
import { EMPTY_SAMPLES } from '../../src/ingestion/outcomes/rejection-log.js';
import { startApp, type TestApp } from '../support/app.js';
import type { ApiResponse } from '../support/call.js';
import { eventually } from '../support/eventually.js';
import { type CommandResult, operatorCall } from '../support/operator-call.js';
import { organizationWithGroup } from '../support/organization-with-group.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type Projecting, startProjecting } from '../support/projecting.js';
import { tableLines } from '../support/table-lines.js';
import { EXAMPLES, sendEvents, sent, type Sent, sentStatus, sentThreat, stored } from '../support/upstream.js';

jest.setTimeout(120_000);

const AT = '2026-03-01T12:00:00.000Z';
const LATER = '2026-03-02T12:00:00.000Z';
const RANGE = 'startDate=2026-01-01&endDate=2026-12-31';
const SECRET = 'confidential-shop.example';
const ASSET = { type: 'URL', content: SECRET };
/** Other written forms of the asset. */
const FORMS = [`https://${SECRET.toUpperCase()}/path?q=1`, `hxxps://confidential-shop[.]example`];
const OTHER = { type: 'URL', content: 'other.example' };

const reviews = (...organizations: readonly string[]) =>
  organizations.map((organization) => ({ organization, brand: 'wallet' }));

const eventsOf = (organization: string): Sent[] => {
  const own = { organization, createdAt: AT, updatedAt: AT };
  return [
    sent('BrandRegistered', { organization, brand: 'wallet', name: 'Wallet', updatedAt: AT }),
    sent('FeatureFlagChanged', { organization, flag: 'brands-metrics', enabled: true, updatedAt: AT }),
    sentThreat('t-1', { ...own, asset: ASSET, status: 'PENDING' }),
    sentThreat('t-1', { ...own, asset: { type: 'URL', content: FORMS[0] }, status: 'BLOCKED', updatedAt: LATER }),
    sentThreat('t-deleted', { ...own, asset: ASSET }),
    sent('ThreatDeleted', { organization, threatId: 't-deleted', deletedAt: LATER }),
    // A threat that is about another asset now.
    sentThreat('t-moved', { ...own, asset: ASSET }),
    sentThreat('t-moved', { ...own, asset: OTHER, updatedAt: LATER }),
    sentThreat('t-other', { ...own, asset: OTHER }),
    sent('TakedownFiled', {
      ...EXAMPLES.TakedownFiled,
      ...own,
      takedownId: 'k-1',
      brand: 'wallet',
      asset: { type: 'URL', content: FORMS[1] },
      status: 'COMPLETED',
    }),
    sent('AssetGrouped', { organization, asset: ASSET, groupId: 1, updatedAt: AT }),
    sent('AssetGrouped', { organization, asset: OTHER, groupId: 1, updatedAt: AT }),
  ];
};

const shared = [
  sentStatus('c-1', {
    asset: { type: 'URL', content: FORMS[0] },
    brandReviews: reviews('acme', 'beta'),
    createdAt: AT,
  }),
  // The entry before follows when this one expires.
  sentStatus('c-2', {
    asset: ASSET,
    brandReviews: reviews('acme'),
    createdAt: LATER,
    expiresAt: '9999-01-01T00:00:00Z',
  }),
  sentStatus('c-gone', { asset: ASSET, brandReviews: reviews('beta'), createdAt: AT }),
  sent('AssetStatusChangeDeleted', { changeId: 'c-gone', asset: ASSET, deletedAt: LATER }),
  sentStatus('c-other', { asset: OTHER, brandReviews: reviews('acme'), createdAt: AT }),
];

let database: TestDatabase;
let app: TestApp;
let projecting: Projecting;
let upstream: string;
let keys: Record<string, string>;

const send = (events: readonly Sent[]): Promise<ApiResponse> => sendEvents(app, upstream, events);
const redact = (...words: string[]): Promise<CommandResult> =>
  operatorCall({ DATABASE_URL: database.url }, 'assets', 'redact', ...words);
// oxlint-disable-next-line typescript/no-explicit-any
const get = async (organization: string, path: string): Promise<any> => {
  const { status, body } = await app.call(path, { key: keys[organization]! });
  expect([path, status]).toEqual([path, 200]);
  return body;
};
const check = async (content: string): Promise<string> => {
  const { body } = await app.call('/v2/asset/check', { method: 'POST', key: keys['acme']!, json: { content } });
  return body.status ?? 'UNKNOWN';
};

const leaks = async (): Promise<string[]> =>
  (await tableLines(database.pool)).filter((line) => line.toLowerCase().includes('confidential-shop'));

/** The lists of records and members, by path, and the field of the response that has the elements. */
const LISTS = { threats: 'items', takedowns: 'items', verdicts: 'items', 'asset-groups/1/assets': 'assets' } as const;

/** Everything that must not change, of both organizations. */
const countsOf = async (): Promise<unknown> => {
  const paths = [`metrics?${RANGE}`, `metrics?${RANGE}&brandSlug=wallet`, `metrics/timeline?${RANGE}`, 'asset-groups'];
  const answers: unknown[] = [];
  for (const organization of ['acme', 'beta']) {
    for (const path of paths) answers.push({ ...(await get(organization, `/v2/organization/${path}`)), asOf: null });
    for (const [path, field] of Object.entries(LISTS)) {
      const elements = (await get(organization, `/v2/organization/${path}`))[field];
      expect([path, elements]).not.toEqual([path, []]);
      answers.push(elements.map((element: any) => ({ ...element, asset: undefined, content: undefined })));
    }
  }
  return answers;
};

const expectRedacted = async (before: unknown): Promise<void> => {
  await projecting.reached();
  expect(await leaks()).toEqual([]);
  expect(await countsOf()).toEqual(before);
  expect(await verify({ pool: database.pool, log: app.log }, PROJECTIONS)).toEqual([]);
};

describe('assets redact', () => {
  beforeEach(async () => {
    database = await createDatabase();
    app = await startApp({ databaseUrl: database.url });
    projecting = startProjecting(app.log, app.pool);
    // Version 2.2 has left a table, which would keep the content.
    await app.pool.query(`create table read.listed_records as select 'confidential-shop.example' as item`);
    upstream = await app.issueKey({ scopes: ['ingest'] });
    keys = {};
    for (const organization of ['acme', 'beta']) {
      keys[organization] = await organizationWithGroup(app, organization);
      expect((await send(eventsOf(organization))).body.accepted).toBe(eventsOf(organization).length);
      await send([sentThreat('t-wrong', { organization, asset: ASSET, status: 7 })]);
    }
    expect((await send(shared)).body.accepted).toBe(shared.length);
    // A rejected event that names the asset only by its id.
    await send([{ ...sent('TakedownFiled', EXAMPLES.TakedownFiled), id: FORMS[0]!, data: undefined } as never]);
    await projecting.reached();
    await eventually('the asset is blocked', async () => (await check(SECRET)) === 'BLOCKED');
    const json = { content: FORMS[0], reason: `We own ${SECRET}` };
    const filed = await app.call('/v2/asset/disputes', { method: 'POST', key: keys['acme']!, json });
    expect([filed.status, filed.body]).toEqual([201, expect.anything()]);
    await send([
      sent('DisputeResolved', {
        organization: 'acme',
        disputeId: filed.body.id,
        outcome: 'ACCEPTED',
        note: `${SECRET} was cleaned`,
        resolvedAt: new Date().toISOString(),
      }),
    ]);
    await projecting.reached();
    await eventually(
      'the rejections are stored',
      async () => (await database.pool.query('select from service.rejections')).rowCount! > 0,
    );
  });
  afterEach(async () => {
    await projecting.stop();
    await app.close();
    await database.drop();
  });

  it('replaces every written form in the log and all tables, and keeps every count', async () => {
    const before = await countsOf();
    expect((await leaks()).length).toBeGreaterThan(30);
    const feed = await get('acme', '/v2/organization/feed');
    const dry = await redact(FORMS[1]!, '--dry-run', '--json');
    expect(dry).toMatchObject({ code: 0 });
    expect((await leaks()).length).toBeGreaterThan(30);

    const { code, out, err } = await redact(FORMS[1]!, '--json');
    expect([code, err]).toEqual([0, expect.anything()]);
    expect(JSON.parse(out)).toEqual(JSON.parse(dry.out));
    expect(JSON.parse(out)).toMatchObject({
      events: { ThreatStatusChanged: 8, TakedownFiled: 2, AssetGrouped: 2, AssetStatusChanged: 3, DisputeFiled: 1 },
    });
    await expectRedacted(before);

    const { items } = await get('acme', '/v2/organization/threats');
    expect(Object.fromEntries(items.map((item: any) => [item.id, item.asset.content]))).toEqual({
      't-1': '[redacted]',
      't-moved': 'other.example',
      't-other': 'other.example',
    });
    const more = await get('acme', `/v2/organization/feed?lastEventId=${feed.at(-1).id}`);
    const content = JSON.stringify(more);
    expect(content).toContain('[redacted]');
    expect(content).toContain('"t-1"');
    expect(content).not.toContain('"t-other"');
    await eventually('the status no longer applies', async () => (await check(SECRET)) === 'UNKNOWN');
    for (const form of [...FORMS, '[redacted]', 'URL:[redacted]'])
      expect([form, await check(form)]).toEqual([form, 'UNKNOWN']);
    expect(await check(OTHER.content)).toBe('BLOCKED');

    await rebuild({ pool: database.pool, log: app.log }, PROJECTIONS);
    await expectRedacted(before);
    expect(await redact(SECRET)).toMatchObject({ code: 1, out: '' });
    // A redelivery of the same events restores nothing.
    expect((await send([...eventsOf('acme'), ...shared].slice(-5))).body).toMatchObject({ duplicates: 5 });
    await expectRedacted(before);
  });

  /** Makes the call fail at a point, and checks that the tables are those of the log. */
  const expectKilled = async (failing: { mockRestore(): void }, point: string): Promise<void> => {
    const { code, err } = await redact(SECRET);
    failing.mockRestore();
    expect([point, code, err]).toEqual([point, 1, expect.stringContaining('killed')]);
  };
  const expectOneRedactionEach = async (): Promise<void> => {
    const { rows } = await database.pool.query(`
      select stream, data::jsonb - 'redactedAt' from log.events where type = 'ContentRedacted' group by 1, 2
      having count(*) > 1`);
    expect(rows).toEqual([]);
  };

  it('has the same end after it was killed at any step and run again', async () => {
    const before = await countsOf();
    for (const step of [EMPTY_SAMPLES, LOCK_EVENTS, REWRITE_CONTENTS]) {
      await expectKilled(jest.spyOn(step, 'run').mockRejectedValueOnce(new Error('killed')), step.name);
      await projecting.reached();
      expect(await verify({ pool: database.pool, log: app.log }, PROJECTIONS)).toEqual([]);
    }
    expect(await redact(SECRET)).toMatchObject({ code: 0 });
    await expectRedacted(before);
    await expectOneRedactionEach();
  });

  it('has the same end after it was killed before the projection, or between two batches, and run again', async () => {
    const count = 600;
    const own = { organization: 'acme', asset: ASSET, createdAt: AT, updatedAt: AT };
    const many = Array.from({ length: count }, (_, n) => sentThreat(`t-many-${n}`, own));
    expect((await send(many)).body.accepted).toBe(count);
    await projecting.reached();
    const before = await countsOf();
    await projecting.stop();
    const head = await app.log.head();
    const countCheckpoints = COUNT_CHECKPOINTS_AT.run.bind(COUNT_CHECKPOINTS_AT);
    const waiting = jest
      .spyOn(COUNT_CHECKPOINTS_AT, 'run')
      .mockImplementation((pool, values) =>
        BigInt(values.position) > head ? Promise.reject(new Error('killed')) : countCheckpoints(pool, values),
      );
    await expectKilled(waiting, 'projection');
    expect(await app.log.head()).toBeGreaterThan(head);
    expect((await leaks()).filter((line) => line.startsWith('read.')).length).toBeGreaterThan(count);

    projecting = startProjecting(app.log, app.pool);
    await projecting.reached();
    expect((await leaks()).filter((line) => !line.startsWith('log.') && !line.startsWith('service.'))).toEqual([]);
    expect(await verify({ pool: database.pool, log: app.log }, PROJECTIONS)).toEqual([]);

    const lock = LOCK_EVENTS.run.bind(LOCK_EVENTS);
    const failing = jest
      .spyOn(LOCK_EVENTS, 'run')
      .mockImplementationOnce(lock)
      .mockRejectedValueOnce(new Error('killed'));
    const inLog = async (): Promise<number> =>
      (await leaks()).filter((line) => line.startsWith('log.') && line.includes('t-many-')).length;
    await expectKilled(failing, 'second batch');
    expect(await inLog()).toBeLessThan(count);
    expect(await inLog()).toBeGreaterThan(0);
    await rebuild({ pool: database.pool, log: app.log }, PROJECTIONS);
    expect(await countsOf()).toEqual(before);

    expect(await redact(SECRET)).toMatchObject({ code: 0 });
    await expectRedacted(before);
    await expectOneRedactionEach();
  });

  it('renews the statistics of the planner also if an earlier call has left nothing else to do', async () => {
    const analyses = async (): Promise<number> => {
      const { rows } = await database.pool.query<{ n: number }>(
        `select sum(analyze_count)::int as n from pg_stat_user_tables where schemaname = 'read'`,
      );
      return rows[0]!.n;
    };
    expect(await redact(SECRET)).toMatchObject({ code: 0 });
    const before = await analyses();
    expect(await redact(SECRET)).toMatchObject({ code: 1, err: expect.stringContaining('Nothing stored is about') });
    expect(await analyses()).toBeGreaterThan(before);
  });

  it('redacts the note of a resolution whose dispute is not projected yet', async () => {
    await projecting.stop();
    const json = { content: SECRET, reason: 'ours' };
    const filed = await app.call('/v2/asset/disputes', { method: 'POST', key: keys['beta']!, json });
    expect(filed.status).toBe(201);
    const resolution = {
      organization: 'beta',
      disputeId: filed.body.id,
      outcome: 'ACCEPTED',
      note: `${SECRET} is ours`,
    };
    await send([sent('DisputeResolved', { ...resolution, resolvedAt: new Date().toISOString() })]);
    expect(await redact(SECRET)).toMatchObject({ code: 0 });
    expect((await leaks()).filter((line) => line.startsWith('log.'))).toEqual([]);
    projecting.start();
    await projecting.reached();
    expect(await leaks()).toEqual([]);
  });

  it('drops the tables that a killed rebuild or verification has left, and not those of a running one', async () => {
    const schemas = ['read_check_register', 'read_next_metrics', 'read_next_register'];
    for (const schema of schemas)
      await app.pool.query(
        `create schema "${schema}"; create table "${schema}".register as select '${SECRET}' as item`,
      );
    const left = async (): Promise<string[]> =>
      (await SHADOW_SCHEMAS.run(database.pool, {})).map(({ name }) => name).sort();
    expect(await left()).toEqual(schemas);
    const running = await database.pool.connect();
    try {
      await running.query(`select pg_advisory_lock(hashtext('read_next_metrics'))`);
      expect(await redact(SECRET)).toMatchObject({ code: 0 });
      expect(await left()).toEqual(['read_next_metrics']);
    } finally {
      await running.query('select pg_advisory_unlock_all()');
      running.release();
    }
    // Also a call that finds nothing else.
    expect(await redact(SECRET)).toMatchObject({ code: 1, err: expect.stringContaining('Nothing stored') });
    expect(await left()).toEqual([]);
  });

  it('finds what was stored with exactly this text, also under another key or with a text that is no asset', async () => {
    const texts: [type: string, text: string][] = [
      ['TWITTER', 'https://twitter.com/jane/status/1'],
      ['EMAIL', `a@x.example, b@y.example`],
      ['URL', 'Jane Doe, 12 Main Street'],
      ['ADDRESS', 'bobs wallet'],
      ['DISCORD', 'jane#1234'],
    ];
    const eventsAbout = (id: string, type: string, content: string): Sent[] => {
      const own = { organization: 'acme', asset: { type, content }, createdAt: AT, updatedAt: AT };
      return [
        sentThreat(`t-${id}`, own),
        sent('AssetGrouped', { ...own, groupId: 1 }),
        sentStatus(`c-${id}`, { asset: own.asset, status: 'BLOCKED', brandReviews: reviews('acme'), createdAt: AT }),
      ];
    };
    // Assets that a part of the texts names.
    const others = [...eventsAbout('mailbox', 'EMAIL', 'a@x.example'), ...eventsAbout('profile', 'TWITTER', '@jane')];
    const events = texts.flatMap(([type, text], n) => eventsAbout(`text-${n}`, type, `\u00a0${text}\n`));
    expect((await send([...events, ...others])).body.accepted).toBe(events.length + others.length);
    await projecting.reached();
    const mailboxes = texts[1]![1];
    await eventually('the mailbox is blocked', async () => (await check(mailboxes)) === 'BLOCKED');
    const json = { content: mailboxes, reason: 'ours' };
    const filed = await app.call('/v2/asset/disputes', { method: 'POST', key: keys['acme']!, json });
    const resolution = { organization: 'acme', disputeId: filed.body.id, outcome: 'ACCEPTED', note: mailboxes };
    const resolved = sent('DisputeResolved', { ...resolution, resolvedAt: new Date().toISOString() });
    expect((await send([resolved])).body.accepted).toBe(1);
    await projecting.reached();

    const linesWith = async (text: string): Promise<string[]> =>
      (await tableLines(database.pool)).filter((line) => line.includes(text));
    for (const [type, text] of texts) {
      const { code, out, err } = await redact(`${text} `, '--json');
      expect([text, code, err]).toEqual([text, 0, expect.anything()]);
      expect([text, JSON.parse(out).events]).toEqual([
        text,
        {
          ThreatStatusChanged: 1,
          AssetGrouped: 1,
          AssetStatusChanged: 1,
          ...(type === 'EMAIL' && { DisputeFiled: 1, DisputeResolved: 1 }),
        },
      ]);
      await projecting.reached();
      expect(await linesWith(text)).toEqual([]);
    }
    const kept = (await linesWith('log.events')).filter((line) => /a@x\.example|@jane/.test(line));
    expect(kept).toHaveLength(others.length);
    expect(await check('a@x.example')).toBe('BLOCKED');
    expect(await verify({ pool: database.pool, log: app.log }, PROJECTIONS)).toEqual([]);
    for (const words of [[], ['--dry-run']])
      expect(await redact('bobs wallet', ...words)).toMatchObject({
        code: 2,
        err: expect.stringContaining('cannot be read as an asset'),
      });
  });

  it('leaves events that arrive during the call to the next call', async () => {
    const lock = LOCK_EVENTS.run.bind(LOCK_EVENTS);
    const late = sentThreat('t-late', { organization: 'acme', asset: ASSET, createdAt: AT, updatedAt: AT });
    const sending = jest.spyOn(LOCK_EVENTS, 'run').mockImplementationOnce(async (...values) => {
      expect((await send([late])).body.accepted).toBe(1);
      return lock(...values);
    });
    expect(await redact(SECRET)).toMatchObject({ code: 0 });
    sending.mockRestore();
    await projecting.reached();
    const { items } = await get('acme', '/v2/organization/threats');
    expect(items.filter((item: any) => item.asset.content === SECRET).map(({ id }: any) => id)).toEqual(['t-late']);
    expect(await redact(SECRET)).toMatchObject({ code: 0 });
    await projecting.reached();
    expect(await leaks()).toEqual([]);
  });

  it('leaves the events of an organization whose erasure starts during the call to the erasure', async () => {
    const appendAll = app.log.appendAll.bind(app.log);
    const starting = jest.spyOn(app.log, 'appendAll').mockImplementationOnce(async (entries) => {
      await startErasure(app, await subjectOf(app.log, 'beta'), 'operator');
      return appendAll(entries);
    });
    await redactAsset(app, SECRET, 'operator');
    starting.mockRestore();
    await projecting.reached();
    expect((await leaks()).filter((line) => !line.includes('beta'))).toEqual([]);
    expect(await leaks()).not.toEqual([]);
    await eraseOrganization(app, await subjectOf(app.log, 'beta'), 'operator');
    expect(await leaks()).toEqual([]);
  });

  it('leaves an open dispute open, so that the organization cannot file another one', async () => {
    const file = (): Promise<ApiResponse> =>
      app.call('/v2/asset/disputes', { method: 'POST', key: keys['beta']!, json: { content: SECRET } });
    expect((await file()).status).toBe(201);
    expect(await redact(SECRET)).toMatchObject({ code: 0 });
    await send([
      sentStatus('c-again', { asset: ASSET, brandReviews: reviews('beta'), createdAt: '2026-03-03T00:00:00Z' }),
    ]);
    await eventually('the asset is blocked again', async () => (await check(SECRET)) === 'BLOCKED');
    expect((await file()).status).toBe(409);
  });

  it('refuses an unknown asset, and an asset with a parked event, and changes nothing', async () => {
    const before = await tableLines(database.pool);
    expect(await redact('nobody.example')).toMatchObject({ code: 1, out: '' });
    const events = (lines: readonly string[]): string[] => lines.filter((line) => line.startsWith('log.'));
    expect(events(await tableLines(database.pool))).toEqual(events(before));
    const broken = stored(sentThreat('t-parked', { organization: 'acme', asset: ASSET }));
    await projecting.stop();
    await app.log.append(broken.stream, 'any', [{ ...broken.event, data: { ...broken.event.data, status: 7 } }]);
    // The call waits until the event has been parked.
    expect(await redact(SECRET)).toMatchObject({ code: 1, err: expect.stringContaining('is parked in') });
    expect(events(await tableLines(database.pool))).toHaveLength(events(before).length + 1);
    // What only version 2.2 has parked, nothing of this version would retry or drop.
    await database.pool.query(`
      delete from read.parked_events where projection <> 'metrics';
      update read.parked_events set projection = 'records'`);
    expect(await redact(SECRET)).toMatchObject({ code: 0 });
  });
});
