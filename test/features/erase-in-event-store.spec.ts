import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { rebuild } from '../../projections/engine/rebuild.js';
import { verify } from '../../projections/engine/verify.js';
import { PROJECTIONS } from '../../projections/registry.js';
import { KeyRing } from '../../src/api-keys/key-ring.js';
import { issueApiKey } from '../../src/api-keys/api-keys.js';
import { readCertificate, subjectOf } from '../../src/cli/erasing/find-organization.js';
import { Conflict } from '../../src/errors.js';
import { copyLog } from '../../src/event-log/copy-log.js';
import { StreamRewriter } from '../../src/event-log/eventstoredb/rewriting/stream-rewriter.js';
import { ROW_STEPS } from '../../src/read-models/erasures.js';
import { startApp, type TestApp } from '../support/app.js';
import { beginErasureEarlier } from '../support/begin-erasure-earlier.js';
import type { ApiResponse } from '../support/call.js';
import { eventStores, type TestEventStore } from '../support/event-store.js';
import { eventually } from '../support/eventually.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { operatorCall, type CommandResult } from '../support/operator-call.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type Projecting, startProjecting } from '../support/projecting.js';
import { eventsOf, namesAcme, RANGE, rowsOfAcme, SHARED_VERDICTS } from '../support/two-organizations.js';
import { sendEvents, type Sent, sentThreat, stored } from '../support/upstream.js';

// Each test starts the service, reads the whole log several times and waits for the erasure to be known everywhere.
jest.setTimeout(180_000);

for (const { name, open } of eventStores)
  describe(`organizations erase with the log in ${name}`, () => {
    let store: TestEventStore;
    let database: TestDatabase;
    let app: TestApp;
    let projecting: Projecting;
    let upstream: string;
    let keys: Record<string, string>;

    const send = (key: string, events: readonly Sent[]): Promise<ApiResponse> => sendEvents(app, key, events);
    const operate = (...words: string[]): Promise<CommandResult> =>
      operatorCall({ DATABASE_URL: database.url, EVENTSTORE_URL: store.url }, ...words);
    const erase = (...words: string[]): Promise<CommandResult> => operate('organizations', 'erase', ...words);

    const answersOf = async (organization: string): Promise<unknown> => {
      const isComplete = async (): Promise<boolean> =>
        (await app.call('/v2/organization/feed', { key: keys[organization]! })).status === 200;
      await eventually('the lists are complete', isComplete);
      const answers = [];
      for (const path of [
        `metrics?${RANGE}`,
        `metrics/timeline?${RANGE}`,
        'threats',
        'reports',
        'verdicts',
        'feed',
        'brands',
      ]) {
        const { status, body } = await app.call(`/v2/organization/${path}`, { key: keys[organization]! });
        answers.push([path, status, body.asOf === undefined ? body : { ...body, asOf: null }]);
      }
      return answers;
    };
    const leaks = (): Promise<string[]> => rowsOfAcme(database.pool);
    const events = async (): Promise<string[]> =>
      (await app.log.readAll(-1n, 3_000)).map((event) =>
        JSON.stringify(event, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
      );
    const ofOthers = async (): Promise<string[]> => (await events()).filter((line) => /-acme-2[:"]/.test(line));
    const verifies = async (): Promise<void> =>
      expect(await verify({ pool: database.pool, log: app.log }, PROJECTIONS)).toEqual([]);

    beforeEach(async () => {
      store = await open();
      database = await createDatabase();
      app = await startApp({ env: { EVENTSTORE_URL: store.url }, databaseUrl: database.url });
      projecting = startProjecting(app.log, app.pool);
      upstream = await app.issueKey({ scopes: ['ingest'] });
      keys = {};
      for (const organization of ['acme', 'acme-2']) {
        const { key } = await issueApiKey(app.log, { organization, scopes: ['read', 'write'], name: organization });
        keys[organization] = key;
        expect((await send(upstream, eventsOf(organization))).body.accepted).toBe(eventsOf(organization).length);
      }
      await app.app.get(KeyRing).refresh();
      expect((await send(upstream, SHARED_VERDICTS)).body.accepted).toBe(SHARED_VERDICTS.length);
      await projecting.reached();
    });
    afterEach(async () => {
      await projecting.stop();
      await app.close();
      await database.drop();
      await store.release();
    });

    it('leaves nothing of the organization in the tables and the log, and everything of the others', async () => {
      const before = { answers: await answersOf('acme-2'), events: await ofOthers() };
      const feed = await app.call('/v2/organization/feed', { key: keys['acme-2']! });
      const lastEventId = (feed.body as { id: string }[]).at(-1)!.id;
      const erased = await erase('acme', '--confirm', 'acme', '--json');
      expect(erased).toMatchObject({ code: 0 });
      const certificate = JSON.parse(erased.out);
      expect(certificate.events).toEqual({
        ApiKeyIssued: 1,
        AssetGrouped: 1,
        AssetStatusChanged: 3,
        BrandRegistered: 2,
        FeatureFlagChanged: 1,
        ReportFiled: 1,
        TakedownFiled: 1,
        ThreatStatusChanged: 2,
      });
      expect(JSON.stringify(certificate.outOfReach)).toContain('until every node behind it is scavenged');
      expect(JSON.stringify(certificate.outOfReach)).toContain('link events of system projections');
      expect((await app.call('/v2/organization/brands', { key: keys['acme']! })).status).toBe(401);

      await projecting.reached();
      expect(await leaks()).toEqual([]);
      expect(await answersOf('acme-2')).toEqual(before.answers);
      expect(await ofOthers()).toEqual(before.events);
      expect((await events()).filter(namesAcme)).toEqual([]);
      await verifies();

      // A place before a rewritten stream counts as present, also if a repeated call rewrites it after the certificate.
      const operations = (await app.log.readStream('operations', 0n, 100)).map(({ type }) => type);
      expect(operations).toContain('StreamsRewritten');

      // A copy of the log has another id, and the certificates of the log that was copied.
      const copy: typeof app.log = Object.create(app.log, { id: { value: async () => 'copy' } });
      expect(await readCertificate({ pool: database.pool, log: copy }, await subjectOf(copy, 'acme'))).toMatchObject({
        digest: certificate.digest,
      });

      const late = await send(upstream, eventsOf('acme'));
      expect([late.status, JSON.stringify(late.body)]).toEqual([
        400,
        expect.stringContaining('the organization of this event was erased'),
      ]);
      await expect(issueApiKey(app.log, { organization: 'acme', scopes: ['read'] })).rejects.toThrow(Conflict);
      expect(await erase('acme', '--verify')).toMatchObject({
        code: 1,
        out: expect.stringContaining('$streamDeleted'),
      });

      await store.scavenge();
      const left = async (): Promise<{ events: object; rows: object }> =>
        (JSON.parse((await erase('acme', '--verify', '--json')).out) as { left: { events: object; rows: object } })
          .left;
      await eventually(
        'only tombstones are left',
        async () => Object.keys((await left()).events).join() === '$streamDeleted',
        30_000,
      );
      expect((await left()).rows).toEqual({});
      const next = await app.call(`/v2/organization/feed?lastEventId=${lastEventId}`, { key: keys['acme-2']! });
      expect([next.status, next.body]).toEqual([200, []]);
      await rebuild({ pool: database.pool, log: app.log }, PROJECTIONS);
      await verifies();
      expect(await answersOf('acme-2')).toEqual(before.answers);
      expect(await ofOthers()).toEqual(before.events);
      expect(await leaks()).toEqual([]);
      await expect(copyLog(app.log, new InMemoryEventLog())).rejects.toThrow('cannot be copied one to one');
    });

    it('continues after it was killed, with the same end state', async () => {
      const before = { answers: await answersOf('acme-2'), events: await ofOthers() };
      await beginErasureEarlier();
      const prototype = StreamRewriter.prototype as unknown as Record<'appendCopies' | 'truncateBefore', () => unknown>;
      for (const step of ['appendCopies', 'truncateBefore'] as const) {
        const failing = jest.spyOn(prototype, step).mockImplementationOnce(() => Promise.reject(new Error('killed')));
        expect(await erase('acme', '--confirm', 'acme')).toMatchObject({
          code: 1,
          err: expect.stringContaining('killed'),
        });
        failing.mockRestore();
      }
      const failing = jest.spyOn(ROW_STEPS[0]!.erase, 'run').mockRejectedValueOnce(new Error('killed'));
      expect(await erase('acme', '--confirm', 'acme')).toMatchObject({ code: 1 });
      failing.mockRestore();
      const { code, out } = await erase('acme', '--confirm', 'acme', '--json');
      expect([code, JSON.parse(out).events.ThreatStatusChanged]).toEqual([0, 2]);
      expect(await erase('acme', '--confirm', 'acme', '--json')).toMatchObject({ code: 0, out });
      await projecting.reached();
      expect(await leaks()).toEqual([]);
      expect(await answersOf('acme-2')).toEqual(before.answers);
      expect(await ofOthers()).toEqual(before.events);
      await verifies();
    });

    it('erases the rows of webhooks that an older backup of the database brings back', async () => {
      await beginErasureEarlier();
      expect(await erase('acme', '--confirm', 'acme')).toMatchObject({ code: 0 });
      const attempts = async (): Promise<unknown[]> =>
        (await database.pool.query('select endpoint from service.webhook_attempts')).rows;
      await database.pool.query('delete from service.erased_names');
      await database.pool.query(`
        insert into read.webhook_endpoints (organization, id, state, created_at, revision, endpoint)
        values ('acme', 'wh_acme', 'ACTIVE', 1, 0, '{}')`);
      await database.pool.query(`
        insert into service.webhook_attempts values ('wh_acme', 1, '{}'), ('wh_other', 1, '{}')`);
      expect(JSON.parse((await erase('acme', '--verify', '--json')).out)).toMatchObject({
        left: { rows: { 'read.webhook_endpoints': 1, 'service.webhook_attempts': 1 } },
      });
      expect(JSON.parse((await erase('acme', '--confirm', 'acme', '--json')).out)).toMatchObject({
        lateRows: { 'read.webhook_endpoints': 1, 'service.webhook_attempts': 1 },
      });
      expect(await attempts()).toEqual([{ endpoint: 'wh_other' }]);
    });

    it('refuses an append to a deleted stream and to a new stream of the organization', async () => {
      expect(await erase('acme', '--confirm', 'acme')).toMatchObject({ code: 0 });
      for (const id of ['t-1', 't-new']) {
        const { stream, event } = stored(sentThreat(id, { organization: 'acme', status: 'RESOLVED' }));
        await expect(app.log.append(stream, 'any', [event])).rejects.toThrow(
          'was erased, and its slug cannot be used again',
        );
        expect(await app.log.readStream(stream, 0n, 10)).toEqual([]);
      }
      const other = stored(sentThreat('t-new', { organization: 'acme-2' }));
      await eventually(
        'others are stored',
        async () => (await app.log.append(other.stream, 'any', [other.event])).revision === 0n,
      );
    });
  });
