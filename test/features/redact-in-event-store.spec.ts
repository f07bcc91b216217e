import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { rebuild } from '../../projections/engine/rebuild.js';
import { verify } from '../../projections/engine/verify.js';
import { PROJECTIONS } from '../../projections/registry.js';
import { eraseOrganization } from '../../src/cli/erasing/erase-organization.js';
import { startErasure, subjectOf } from '../../src/cli/erasing/find-organization.js';
import { copyLog } from '../../src/event-log/copy-log.js';
import { EventStoreRedactor } from '../../src/event-log/eventstoredb/rewriting/eraser.js';
import { StreamRewriter } from '../../src/event-log/eventstoredb/rewriting/stream-rewriter.js';
import { startApp, type TestApp } from '../support/app.js';
import { beginErasureEarlier } from '../support/begin-erasure-earlier.js';
import type { ApiResponse } from '../support/call.js';
import { eventStores, type TestEventStore } from '../support/event-store.js';
import { eventually } from '../support/eventually.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { operatorCall, type CommandResult } from '../support/operator-call.js';
import { organizationWithGroup } from '../support/organization-with-group.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type Projecting, startProjecting } from '../support/projecting.js';
import { tableLines } from '../support/table-lines.js';
import { EXAMPLES, sendEvents, sent, type Sent, sentStatus, sentThreat } from '../support/upstream.js';

// Each test starts the service and reads the whole log several times.
jest.setTimeout(180_000);

const AT = '2026-03-01T12:00:00.000Z';
const LATER = '2026-03-02T12:00:00.000Z';
const NEWEST = '2026-03-03T12:00:00.000Z';
const RANGE = 'startDate=2026-01-01&endDate=2026-12-31';
const SECRET = 'confidential-shop.example';
const ASSET = { type: 'URL', content: SECRET };
const OTHER = { type: 'URL', content: 'other.example' };
/** A method that a test replaces. */
type Step = (...values: unknown[]) => Promise<void>;
const ORGANIZATIONS = ['acme', 'beta'];
const reviews = ORGANIZATIONS.map((organization) => ({ organization, brand: 'wallet' }));

const eventsOf = (organization: string): Sent[] => {
  const own = { organization, createdAt: AT, updatedAt: AT };
  return [
    sent('BrandRegistered', { organization, brand: 'wallet', name: 'Wallet', updatedAt: AT }),
    sentThreat('t-1', { ...own, asset: ASSET, status: 'PENDING' }),
    sentThreat('t-1', { ...own, asset: ASSET, status: 'BLOCKED', updatedAt: LATER }),
    sentThreat('t-2', { ...own, asset: ASSET }),
    sentThreat('t-deleted', { ...own, asset: ASSET }),
    sent('ThreatDeleted', { organization, threatId: 't-deleted', deletedAt: LATER }),
    // A threat that is about another asset now.
    sentThreat('t-moved', { ...own, asset: ASSET }),
    sentThreat('t-moved', { ...own, asset: OTHER, updatedAt: LATER }),
    sentThreat('t-other', { ...own, asset: OTHER }),
    sent('TakedownFiled', { ...EXAMPLES.TakedownFiled, ...own, takedownId: 'k-1', brand: 'wallet', asset: ASSET }),
    sent('AssetGrouped', { organization, asset: ASSET, groupId: 1, updatedAt: AT }),
    sent('AssetGrouped', { organization, asset: OTHER, groupId: 1, updatedAt: AT }),
  ];
};

const shared = [
  sentStatus('c-1', { asset: { ...ASSET, content: `https://${SECRET}/` }, brandReviews: reviews, createdAt: AT }),
  sentStatus('c-2', { asset: ASSET, brandReviews: reviews.slice(0, 1), createdAt: LATER }),
  sentStatus('c-gone', { asset: ASSET, brandReviews: reviews, createdAt: AT }),
  sent('AssetStatusChangeDeleted', { changeId: 'c-gone', asset: ASSET, deletedAt: LATER }),
  sentStatus('c-other', { asset: OTHER, brandReviews: reviews, createdAt: AT }),
];

for (const { name, open } of eventStores)
  describe(`redactions with the log in ${name}`, () => {
    let store: TestEventStore;
    let database: TestDatabase;
    let app: TestApp;
    let projecting: Projecting;
    let upstream: string;
    let keys: Record<string, string>;
    let disputes: Record<string, string>;

    const send = (events: readonly Sent[]): Promise<ApiResponse> => sendEvents(app, upstream, events);
    const operate = (...words: string[]): Promise<CommandResult> =>
      operatorCall({ DATABASE_URL: database.url, EVENTSTORE_URL: store.url }, ...words);
    const redact = (...words: string[]): Promise<CommandResult> => operate('assets', 'redact', SECRET, ...words);
    // oxlint-disable-next-line typescript/no-explicit-any
    const get = async (organization: string, path: string): Promise<any> => {
      const { status, body } = await app.call(`/v2/organization/${path}`, { key: keys[organization]! });
      expect([path, status]).toEqual([path, 200]);
      return body;
    };
    const resolution = (organization: string, note: string, resolvedAt: string): Sent =>
      sent('DisputeResolved', {
        organization,
        disputeId: disputes[organization],
        outcome: 'ACCEPTED',
        note,
        resolvedAt,
      });

    /**
     * The rows of the read models, except how far each projection has read. The recording clock names the first event
     * of a millisecond, which may be a redacted one that the scavenge removes.
     */
    const rows = async (): Promise<string[]> =>
      (await tableLines(database.pool)).filter((line) => /^read\.(?!checkpoints|register_clock)/.test(line));
    const leaks = async (): Promise<string[]> =>
      (await tableLines(database.pool)).filter((line) => line.includes('confidential-shop'));
    const everything = async (): Promise<string[]> =>
      (await app.log.readAll(-1n, 3_000)).map((event) =>
        JSON.stringify(event, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
      );
    /** What the streams have of an event without a content that was redacted. */
    const ofOthers = async (): Promise<string[]> =>
      (await everything()).filter((line) => /"stream":"(threat-[a-z]+:t-other|brand-|assetGroups-)/.test(line));
    const contents = async (): Promise<string[]> =>
      (await everything()).filter((line) => line.includes('confidential-shop'));
    const countsOf = async (): Promise<unknown> => {
      const answers = [];
      for (const organization of ORGANIZATIONS)
        for (const path of [`metrics?${RANGE}`, `metrics/timeline?${RANGE}`, 'asset-groups'])
          answers.push({ ...(await get(organization, path)), asOf: null });
      return answers;
    };
    const verifies = async (): Promise<void> =>
      expect(await verify({ pool: database.pool, log: app.log }, PROJECTIONS)).toEqual([]);

    /** Rebuilds, and checks that the rows stay the same. */
    const rebuilds = async (): Promise<void> => {
      const before = await rows();
      await rebuild({ pool: database.pool, log: app.log }, PROJECTIONS);
      expect(await rows()).toEqual(before);
    };
    /** Checks that the rows are those of the log before and after a scavenge. */
    const expectSameAfterScavenge = async (): Promise<void> => {
      await projecting.reached();
      const before = await rows();
      await verifies();
      const stored = (await everything()).length;
      await store.scavenge();
      await eventually('the scavenge has ended', async () => (await everything()).length < stored, 30_000);
      await verifies();
      expect(await rows()).toEqual(before);
    };

    beforeEach(async () => {
      store = await open();
      database = await createDatabase();
      app = await startApp({ env: { EVENTSTORE_URL: store.url }, databaseUrl: database.url });
      projecting = startProjecting(app.log, app.pool);
      upstream = await app.issueKey({ scopes: ['ingest'] });
      keys = {};
      disputes = {};
      for (const organization of ORGANIZATIONS) {
        keys[organization] = await organizationWithGroup(app, organization);
        expect((await send(eventsOf(organization))).body.accepted).toBe(eventsOf(organization).length);
        await send([sentThreat('t-wrong', { organization, asset: ASSET, status: 7 })]);
      }
      expect((await send(shared)).body.accepted).toBe(shared.length);
      await projecting.reached();
      const check = async (): Promise<ApiResponse> =>
        app.call('/v2/asset/check', { method: 'POST', key: keys['acme']!, json: { content: SECRET } });
      await eventually('the asset is blocked', async () => (await check()).body.status === 'BLOCKED');
      for (const organization of ORGANIZATIONS)
        for (const content of organization === 'acme' ? [OTHER.content, SECRET] : [SECRET]) {
          const json = { content, reason: `We own ${content}` };
          const filed = await app.call('/v2/asset/disputes', { method: 'POST', key: keys[organization]!, json });
          expect([filed.status, filed.body]).toEqual([201, expect.anything()]);
          disputes[organization] = filed.body.id;
        }
      // The dispute of the other organization stays open.
      expect((await send([resolution('acme', `${SECRET} was cleaned`, NEWEST)])).body.accepted).toBe(1);
      await projecting.reached();
      await eventually(
        'the rejections are stored',
        async () => (await database.pool.query('select from service.rejections')).rowCount! > 0,
      );
    });
    afterEach(async () => {
      // Spies on prototypes would otherwise stay for the next store, and call themselves.
      jest.restoreAllMocks();
      await projecting.stop();
      await app.close();
      await database.drop();
      await store.release();
    });

    it('redacts an asset of all organizations, and names the nodes to scavenge', async () => {
      const before = { counts: await countsOf(), others: await ofOthers(), contents: await contents() };
      const feed = await get('acme', 'feed');
      const dry = await redact('--dry-run', '--json');
      const { nodesToScavenge, ...result } = JSON.parse((await redact('--json')).out);
      expect(nodesToScavenge).toEqual([expect.stringContaining('127.0.0.1')]);
      expect(result).toEqual(JSON.parse(dry.out));
      expect(result.events).toEqual({
        ThreatStatusChanged: 10,
        TakedownFiled: 2,
        AssetGrouped: 2,
        AssetStatusChanged: 3,
        AssetStatusChangeDeleted: 1,
        DisputeFiled: 2,
        DisputeResolved: 1,
      });
      await projecting.reached();
      expect(await leaks()).toEqual([]);
      expect(await countsOf()).toEqual(before.counts);
      const more = await get('acme', `feed?lastEventId=${feed.at(-1).id}`);
      expect(more.map(({ id }: { id: string }) => id)).toHaveLength(new Set(more.map(({ id }: any) => id)).size);
      expect(JSON.stringify(more)).toContain('[redacted]');
      const { items } = await get('acme', 'threats');
      expect(Object.fromEntries(items.map((item: any) => [item.id, item.asset.content]))).toMatchObject({
        't-1': '[redacted]',
        't-moved': 'other.example',
        't-other': 'other.example',
      });
      // Until a scavenge, the store has the contents, which no call may return.
      expect(await contents()).toEqual(before.contents);
      const folder = await mkdtemp(join(tmpdir(), 'redact-'));
      const file = join(folder, 'acme.gz');
      expect(await operate('organizations', 'export', 'acme', '--to-file', file)).toMatchObject({ code: 0 });
      expect(gunzipSync(await readFile(file)).toString()).not.toContain('confidential-shop');
      await rm(folder, { recursive: true });

      await projecting.reached();
      await rebuilds();
      await expectSameAfterScavenge();
      await rebuilds();
      expect(await contents()).toEqual([]);
      expect(await ofOthers()).toEqual(before.others);
      expect(await countsOf()).toEqual(before.counts);
      const known = await app.call(`/v2/organization/feed?lastEventId=${feed.at(-1).id}`, { key: keys['acme']! });
      expect([known.status, known.body]).toEqual([200, more]);
      await projecting.stop();
      projecting = startProjecting(app.log, app.pool);
      const stored = await everything();
      expect(await redact()).toMatchObject({ code: 1, out: '', err: expect.stringContaining('Nothing stored') });
      // A redelivery restores nothing.
      expect((await send(shared)).body).toMatchObject({ accepted: 0, duplicates: shared.length });
      expect(await everything()).toEqual(stored);
      await expect(copyLog(app.log, new InMemoryEventLog())).rejects.toThrow('cannot be copied one to one');
    });

    it('redacts what was stored with exactly this text, under another key', async () => {
      const text = 'https://twitter.com/jane/status/1';
      const about = (id: string, content: string): Sent =>
        sentThreat(id, { organization: 'acme', asset: { type: 'TWITTER', content }, createdAt: AT, updatedAt: AT });
      expect((await send([about('t-text', ` ${text}`), about('t-profile', '@jane')])).body.accepted).toBe(2);
      await projecting.reached();
      const { code, out, err } = await operate('assets', 'redact', text, '--json');
      expect([code, err]).toEqual([0, expect.anything()]);
      expect(JSON.parse(out).events).toEqual({ ThreatStatusChanged: 1 });
      await expectSameAfterScavenge();
      expect((await everything()).filter((line) => line.includes(text))).toEqual([]);
      expect((await everything()).filter((line) => line.includes('@jane'))).toHaveLength(1);
    });

    it('redacts the note of a resolution whose dispute is not projected yet', async () => {
      // Another dispute of the organization about the asset is refused while one is open.
      expect((await send([resolution('beta', 'ours', NEWEST)])).body.accepted).toBe(1);
      await projecting.reached();
      await projecting.stop();
      const json = { content: SECRET, reason: 'ours' };
      const note = 'not projected';
      const filed = await app.call('/v2/asset/disputes', { method: 'POST', key: keys['beta']!, json });
      expect(filed.status).toBe(201);
      disputes['beta'] = filed.body.id;
      expect((await send([resolution('beta', note, NEWEST)])).body.accepted).toBe(1);
      expect(await redact()).toMatchObject({ code: 0 });
      projecting.start();
      await expectSameAfterScavenge();
      expect((await everything()).filter((line) => line.includes(note))).toEqual([]);
    });

    it('finds nothing before a scavenge that an earlier call has redacted', async () => {
      expect(await redact()).toMatchObject({ code: 0, out: expect.stringContaining('until every node') });
      const stored = await everything();
      expect(await redact()).toMatchObject({ code: 1, out: '', err: expect.stringContaining('Nothing stored') });
      expect(await everything()).toEqual(stored);
    });

    it('has the same end after it was killed and run again', async () => {
      const prototype = StreamRewriter.prototype as unknown as Record<'appendCopies' | 'truncateBefore', Step>;
      const { appendCopies, truncateBefore } = prototype;
      for (const [step, implementation] of [
        ['appendCopies', appendCopies],
        ['truncateBefore', truncateBefore],
      ] as const) {
        const killed = jest.spyOn(prototype, step);
        for (let done = 0; done < 4; done++)
          killed.mockImplementationOnce(function (this: StreamRewriter, ...values) {
            return implementation.apply(this, values);
          });
        killed.mockRejectedValue(new Error('killed'));
        expect(await redact()).toMatchObject({ code: 1, err: expect.stringContaining('killed') });
        killed.mockRestore();
        await projecting.reached();
        await verifies();
        await store.scavenge();
      }
      expect(await redact()).toMatchObject({ code: 0 });
      await projecting.reached();
      expect(await leaks()).toEqual([]);
      await expectSameAfterScavenge();
      expect(await contents()).toEqual([]);
      const redactions = (await everything()).filter((line) => line.includes('"type":"ContentRedacted"'));
      const ids = redactions.map((line) => (JSON.parse(line) as { id: string }).id);
      expect(new Set(ids).size).toBe(ids.length);
    });

    it('keeps what is stored about the asset between its redaction and the rewriting', async () => {
      const { rewrite } = EventStoreRedactor.prototype as unknown as Record<'rewrite', Step>;
      const late = { organization: 'acme', createdAt: AT, updatedAt: NEWEST };
      const events = [
        sentThreat('t-1', { ...late, asset: ASSET, status: 'WATCHLISTED' }),
        sent('AssetGrouped', { organization: 'acme', asset: ASSET, groupId: 1, updatedAt: NEWEST }),
        sentStatus('c-2', { asset: ASSET, brandReviews: reviews, createdAt: NEWEST }),
        resolution('acme', `${SECRET} again`, '2026-03-04T12:00:00.000Z'),
      ];
      const sending = jest.spyOn(EventStoreRedactor.prototype, 'rewrite').mockImplementationOnce(async function (
        this: EventStoreRedactor,
        ...values
      ) {
        expect((await send(events)).body).toMatchObject({ accepted: events.length });
        await projecting.reached();
        return rewrite.apply(this, values);
      });
      expect(await redact()).toMatchObject({ code: 0 });
      sending.mockRestore();
      await expectSameAfterScavenge();
      const { items } = await get('acme', 'threats');
      expect(items.filter((item: any) => item.asset.content === SECRET).map(({ id }: any) => id)).toEqual(['t-1']);
      const { assets } = await get('acme', 'asset-groups/1/assets');
      expect(assets.map(({ content }: any) => content).sort()).toEqual([SECRET, OTHER.content]);
      expect(await redact('--json')).toMatchObject({
        code: 0,
        out: expect.stringContaining('"ThreatStatusChanged":1'),
      });
      await expectSameAfterScavenge();
      expect(await leaks()).toEqual([]);
      expect(await contents()).toEqual([]);
    });

    it('redacts a resolution that arrives after its dispute was redacted', async () => {
      expect(await redact()).toMatchObject({ code: 0 });
      const note = `${SECRET} is clean`;
      expect((await send([resolution('beta', note, '2026-03-05T12:00:00.000Z')])).body.accepted).toBe(1);
      await projecting.reached();
      await store.scavenge();
      expect(await redact('--json')).toMatchObject({ code: 0, out: expect.stringContaining('"DisputeResolved":1') });
      await expectSameAfterScavenge();
      expect(await leaks()).toEqual([]);
      expect(await contents()).toEqual([]);
    });

    it('leaves the events of an organization that is being erased to the erasure', async () => {
      await beginErasureEarlier();
      await startErasure(app, await subjectOf(app.log, 'beta'), 'operator');
      const { code, err } = await redact();
      expect([code, err]).toEqual([0, expect.anything()]);
      await projecting.reached();
      const { items } = await get('acme', 'threats');
      expect(items.map(({ asset }: any) => asset.content)).not.toContain(SECRET);
      await eraseOrganization(app, await subjectOf(app.log, 'beta'), 'operator');
      await store.scavenge();
      await eventually('the store has no content', async () => (await contents()).length === 0, 30_000);
    });

    it('applies a retention', async () => {
      const old = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
      const state = (id: string, content: string, days: number): Sent =>
        sentThreat(id, {
          organization: 'acme',
          asset: { type: 'URL', content },
          createdAt: old(1_200),
          updatedAt: old(days),
        });
      const entry = (changeId: string, path: string, days: number): Sent =>
        sentStatus(changeId, {
          asset: { type: 'URL', content: `https://status.example/${path}` },
          brandReviews: reviews,
          createdAt: old(days),
        });
      const events = [
        state('t-old', 'expired-1.example', 1_000),
        state('t-old', 'expired-2.example', 900),
        state('t-young', 'kept-1.example', 1_000),
        state('t-young', 'kept-2.example', 10),
        entry('c-old', 'expired', 1_000),
        ...Array.from({ length: 40 }, (_, n) => state(`t-recent-${n}`, `recent-${n}.example`, 10)),
        // In the stream of `c-old`, which has been rewritten when the search reaches this entry.
        entry('c-old-2', 'expired', 950),
        entry('c-current', 'kept', 900),
      ];
      expect((await send(events)).body.accepted).toBe(events.length);
      await projecting.reached();
      const counts = await countsOf();
      const apply = async (...words: string[]) => {
        const result = await operate('retention', 'apply', '--older-than', '730d', '--json', ...words);
        expect(result.code === 0 ? '' : result.err).toBe('');
        return JSON.parse(result.out);
      };
      // A round of a search has twenty pages.
      const pages = Reflect.get(StreamRewriter.prototype, 'pages') as StreamRewriter['pages'];
      jest.spyOn(StreamRewriter.prototype, 'pages').mockImplementation(async function* singly(
        this: StreamRewriter,
        after,
      ) {
        for await (const page of pages.call(this, after)) for (const event of page) yield [event];
      });
      const dry = await apply('--dry-run');
      const { nodesToScavenge, ...applied } = await apply();
      expect(nodesToScavenge).toHaveLength(1);
      expect(dry.events).toEqual({ ThreatStatusChanged: 2, AssetStatusChanged: 2 });
      expect(applied.events).toEqual(dry.events);
      await expectSameAfterScavenge();
      expect(await countsOf()).toEqual(counts);
      const stored = await everything();
      expect(stored.filter((line) => line.includes('expired'))).toEqual([]);
      expect(stored.filter((line) => line.includes('kept-'))).toHaveLength(2);
      expect((await rows()).filter((line) => line.includes('expired'))).toEqual([]);
      expect((await rows()).filter((line) => line.includes('status.example/kept')).length).toBeGreaterThan(0);
      expect((await apply()).events).toEqual({});
      expect(await everything()).toEqual(stored);
    });
  });
