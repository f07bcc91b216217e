import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rebuild } from '../../projections/engine/rebuild.js';
import { listParked, retryParked } from '../../projections/engine/parked.js';
import { verify } from '../../projections/engine/verify.js';
import { Projector } from '../../projections/engine/projector.js';
import { PROJECTIONS } from '../../projections/registry.js';
import { KeyRing } from '../../src/api-keys/key-ring.js';
import { issueApiKey, listApiKeys } from '../../src/api-keys/api-keys.js';
import { Conflict } from '../../src/errors.js';
import { erasureDigest } from '../../src/events/redacted.js';
import { copyLog } from '../../src/event-log/copy-log.js';
import { newEvent } from '../../src/event-log/new-event.js';
import type { DomainEvent } from '../../src/events/event.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { FeedWatch } from '../../src/records/feed/feed-watch.js';
import { eraseRows } from '../../src/cli/erasing/erase-organization.js';
import { REWRITE_EVENTS } from '../../src/event-log/postgres/rewriting.js';
import { COUNT_CHECKPOINTS_AT, ROW_STEPS } from '../../src/read-models/erasures.js';
import { startApp, type TestApp } from '../support/app.js';
import { beginErasureEarlier } from '../support/begin-erasure-earlier.js';
import type { ApiResponse } from '../support/call.js';
import { eventually } from '../support/eventually.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { operatorCall, type CommandResult } from '../support/operator-call.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type Projecting, startProjecting } from '../support/projecting.js';
import { tableLines } from '../support/table-lines.js';
import {
  eventsOf,
  namesAcme,
  RANGE,
  rowsOfAcme,
  SECRET,
  SHARED_VERDICTS,
  verdict,
} from '../support/two-organizations.js';
import { eventId, sendEvents, type Sent, sentThreat, stored } from '../support/upstream.js';

// Each test starts the service twice and reads the whole log several times.
jest.setTimeout(120_000);

const folder = mkdtempSync(join(tmpdir(), 'erase-'));
const keyFile = join(folder, 'keys');
writeFileSync(keyFile, `${Buffer.alloc(32, 7).toString('base64')}\n`);
afterAll(() => rmSync(folder, { recursive: true }));

let database: TestDatabase;
let app: TestApp;
let projecting: Projecting;
let upstream: string;
let keys: Record<string, string>;

const send = (key: string, events: readonly Sent[], query = ''): Promise<ApiResponse> =>
  sendEvents(app, key, events, query);
const erase = (...words: string[]): Promise<CommandResult> =>
  operatorCall({ DATABASE_URL: database.url }, 'organizations', 'erase', ...words);

const dump = (): Promise<string[]> => tableLines(database.pool);
const leaks = (): Promise<string[]> => rowsOfAcme(database.pool);

const answersOf = async (organization: string): Promise<unknown> => {
  const paths = [
    `metrics?${RANGE}`,
    `metrics?${RANGE}&brand=wallet`,
    `metrics/timeline?${RANGE}`,
    'threats',
    'reports',
    'takedowns',
    'verdicts',
    'feed',
    'brands',
    'asset-groups',
    'webhooks',
  ].map((path) => `/v2/organization/${path}`);
  const answers = [];
  for (const path of paths) {
    const { status, body } = await app.call(path, { key: keys[organization]! });
    expect([path, status]).toEqual([path, 200]);
    answers.push([path, status, body.asOf === undefined ? body : { ...body, asOf: null }]);
  }
  return answers;
};

/** Rows of the log that concern acme-2 only, and everything that has no organization, as text. */
const logOfOthers = async (): Promise<unknown[]> =>
  (
    await database.pool.query(`
      select e::text from log.events e
      where stream like '%-acme-2:%' or stream in ('assetGroups-acme-2', 'webhooks-acme-2')
        or (stream = 'apiKeys' and data::text like '%"acme-2"%') order by position`)
  ).rows;

/** The wake of the service after the erasure, compared with the state before. */
const expectErased = async (before: { answers: unknown; log: unknown[] }): Promise<void> => {
  expect(await leaks()).toEqual([]);
  expect(await logOfOthers()).toEqual(before.log);
  await projecting.reached();
  expect(await answersOf('acme-2')).toEqual(before.answers);
  const source = { pool: database.pool, log: app.log };
  expect(await verify(source, PROJECTIONS)).toEqual([]);
};

describe('organizations erase', () => {
  beforeEach(async () => {
    database = await createDatabase();
    app = await startApp({ env: { WEBHOOK_MASTER_KEY_FILE: keyFile }, databaseUrl: database.url });
    projecting = startProjecting(app.log, app.pool);
    upstream = await app.issueKey({ scopes: ['ingest'] });
    // Webhooks are refused until the read models have been filled for the first time.
    await projecting.reached();
    keys = {};
    for (const organization of ['acme', 'acme-2']) {
      const { key } = await issueApiKey(app.log, {
        organization,
        scopes: ['read', 'write', 'ingest'],
        name: organization === 'acme' ? SECRET : 'other',
      });
      keys[organization] = key;
      await app.app.get(KeyRing).refresh();
      const group = organization === 'acme' ? `${SECRET} group` : 'group';
      expect(
        (await app.call('/v2/organization/asset-groups', { method: 'POST', key, json: { name: group } })).status,
      ).toBe(201);
      const url = `https://${organization === 'acme' ? SECRET : 'other'}.example/hooks`;
      expect((await app.call('/v2/organization/webhooks', { method: 'POST', key, json: { url } })).status).toBe(201);
      expect((await send(upstream, eventsOf(organization))).body.accepted).toBe(eventsOf(organization).length);
      // Rejected events are not in the log.
      await send(key, [sentThreat(organization === 'acme' ? `${SECRET}-wrong` : 'wrong', { organization, status: 7 })]);
    }
    await send(upstream, [sentThreat(`${SECRET}-wrong`, { organization: 'acme', status: 7 })]);
    expect((await send(upstream, SHARED_VERDICTS)).body.accepted).toBe(SHARED_VERDICTS.length);
    // An event that the endpoint never stores, and that every projection of its type parks.
    const broken = stored(sentThreat(`${SECRET}-parked`, { organization: 'acme' }));
    await app.log.append(broken.stream, 'any', [{ ...broken.event, data: { ...broken.event.data, status: 7 } }]);
    // The newest record of the log is the organization's.
    await send(upstream, [sentThreat(`${SECRET}-newest`, { organization: 'acme' })]);
    await projecting.reached();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await projecting.stop();
    await app.close();
    await database.drop();
  });

  it('leaves nothing of the organization in any table, and everything of the others as it was', async () => {
    // Version 2.2 has left a table.
    await database.pool.query(`create table read.listed_records as select 'acme' as organization`);
    const before = { answers: await answersOf('acme-2'), log: await logOfOthers() };
    const parked = await listParked(database.pool);
    expect(parked.length).toBeGreaterThan(0);
    // The events fail again, and stay parked.
    await retryParked(app.log, parked);
    expect((await leaks()).length).toBeGreaterThan(40);
    const positions = await database.pool.query('select position, event_id, recorded_at from log.events order by 1');

    const erased = await erase('acme', '--confirm', 'acme', '--json');
    expect(erased).toMatchObject({ code: 0 });
    const certificate = JSON.parse(erased.out);
    expect(certificate).toMatchObject({
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      events: { ApiKeyIssued: 1, AssetStatusChanged: 3, ThreatStatusChanged: 4, WebhookCreated: 1 },
      rows: { 'read.register': expect.any(Number), 'service.rejections': expect.any(Number) },
      outOfReach: expect.arrayContaining([{ what: expect.stringContaining('WAL'), newestCopy: expect.any(String) }]),
    });
    await eventually(
      'the key is invalid',
      async () => (await app.call('/v2/organization/brands', { key: keys['acme']! })).status === 401,
      1_000,
    );
    await expectErased(before);
    const kept = await database.pool.query('select position, event_id, recorded_at from log.events order by 1');
    expect(kept.rows.slice(0, positions.rows.length)).toEqual(positions.rows);

    await rebuild({ pool: database.pool, log: app.log }, PROJECTIONS);
    expect(await leaks()).toEqual([]);
    for (const query of ['', '?dryRun=true']) {
      const { status, body } = await send(upstream, eventsOf('acme'), query);
      expect([status, body.error?.rejected?.length ?? body.rejected?.length]).toEqual([400, eventsOf('acme').length]);
      expect(JSON.stringify(body)).toContain('the organization of this event was erased');
      expect((await send(upstream, SHARED_VERDICTS, query)).body).toMatchObject({
        accepted: 0,
        duplicates: SHARED_VERDICTS.length,
      });
    }
    const late = verdict('c-late', 'late.example', 'acme:wallet', 'acme-2:wallet');
    expect((await send(upstream, [late])).body).toMatchObject({ accepted: 1, warnings: [{ index: 0 }] });
    expect((await app.log.find([{ stream: '', id: eventId(late) }]))[0]).toBeDefined();
    await projecting.reached();
    await eventually(
      'the rejections are stored',
      async () => (await database.pool.query(`select from service.rejections where reason = 'erased'`)).rowCount! > 0,
    );
    expect(await leaks()).toEqual([]);
    await expect(issueApiKey(app.log, { organization: 'acme', scopes: ['read'] })).rejects.toThrow(Conflict);
  });

  it('continues after it was killed between any two batches, with the same end state', async () => {
    await beginErasureEarlier();
    const before = { answers: await answersOf('acme-2'), log: await logOfOthers() };
    const steps = [REWRITE_EVENTS, ...ROW_STEPS.map((step) => step.erase)];
    for (const step of steps) {
      const failing = jest.spyOn(step, 'run').mockRejectedValueOnce(new Error('killed'));
      const { code, err } = await erase('acme', '--confirm', 'acme');
      expect([step.name, code, err]).toEqual([step.name, 1, expect.stringContaining('killed')]);
      failing.mockRestore();
    }
    expect((await erase('acme', '--verify')).code).toBe(1);
    const { code, out } = await erase('acme', '--confirm', 'acme', '--json');
    expect(code).toBe(0);
    await expectErased(before);
    const again = await erase('acme', '--confirm', 'acme', '--json');
    expect(again).toMatchObject({ code: 0, out });
    expect(await erase('acme', '--verify', '--json')).toMatchObject({
      code: 0,
      out: `${JSON.stringify({ erased: true, left: { events: {}, rows: {} } })}\n`,
    });
    const { rows } = await database.pool.query(`select type from log.events where type like 'OrganizationEras%'`);
    expect(rows).toHaveLength(2);
  });

  it('erases rows that were written after the certificate when the call is repeated', async () => {
    await beginErasureEarlier();
    const { out } = await erase('acme', '--confirm', 'acme', '--json');
    const sample = { id: null, source: '', type: '', issues: [], data: JSON.stringify({ organization: 'acme' }) };
    await database.pool.query(
      `insert into service.rejections values ('acme-2', 1, 'a-key', 'data', 'other', 1, 1, $1)`,
      [sample],
    );
    expect(await erase('acme', '--verify')).toMatchObject({ code: 1 });
    const repeated = await erase('acme', '--confirm', 'acme', '--json');
    expect([repeated.code, JSON.parse(repeated.out)]).toEqual([
      0,
      { ...JSON.parse(out), lateRows: { 'service.rejections': 1 } },
    ]);
    expect(await erase('acme', '--verify')).toMatchObject({ code: 0 });
  });

  const revokeKey = async (keyId: string): Promise<void> => {
    const revoked: DomainEvent = { type: 'ApiKeyRevoked', data: { keyId, revokedAt: Date.now() } };
    await app.log.append('apiKeys', 'any', [newEvent(revoked, { operator: `${SECRET}-operator` })]);
  };
  const keyOfAcme = async (): Promise<string> =>
    (await listApiKeys(app.log)).find(({ organization }) => organization === 'acme')!.id;

  it('erases the revocation of a key that the log stored during the erasure', async () => {
    const keyId = await keyOfAcme();
    await beginErasureEarlier();
    const [{ erase: step }] = ROW_STEPS as [(typeof ROW_STEPS)[number]];
    const run = step.run.bind(step);
    const during = jest.spyOn(step, 'run').mockImplementationOnce(async (connection, values) => {
      await revokeKey(keyId);
      return run(connection, values);
    });
    const { code, out } = await erase('acme', '--confirm', 'acme', '--json');
    during.mockRestore();
    expect([code, JSON.parse(out).events]).toEqual([0, expect.objectContaining({ ApiKeyRevoked: 1 })]);
    expect(await erase('acme', '--verify')).toMatchObject({ code: 0 });
    await projecting.reached();
    expect(await leaks()).toEqual([]);
  });

  it('erases the revocation of a key that the log stored after the certificate when the call is repeated', async () => {
    const keyId = await keyOfAcme();
    await beginErasureEarlier();
    const { out } = await erase('acme', '--confirm', 'acme', '--json');
    await revokeKey(keyId);
    expect(await erase('acme', '--verify')).toMatchObject({ code: 1, out: expect.stringContaining('ApiKeyRevoked') });
    // A backup from before the erasure may bring back a table of version 2.2.
    await database.pool.query(`create table read.listed_records as select 'acme' as organization`);
    expect(await erase('acme', '--confirm', 'acme', '--json')).toMatchObject({ code: 0, out });
    expect(await erase('acme', '--verify')).toMatchObject({ code: 0 });
    await projecting.reached();
    expect(await leaks()).toEqual([]);
    expect(await verify({ pool: database.pool, log: app.log }, PROJECTIONS)).toEqual([]);
  });

  it('projects the log itself if no projector of the service runs', async () => {
    await projecting.stop();
    await send(upstream, [sentThreat(`${SECRET}-late`, { organization: 'acme' })]);
    await beginErasureEarlier();
    expect(await erase('acme', '--confirm', 'acme')).toMatchObject({ code: 0 });
    projecting = startProjecting(app.log, app.pool);
    await projecting.reached();
    expect(await leaks()).toEqual([]);
  });

  it('stops projecting the log if the database fails meanwhile, so that the call ends', async () => {
    await projecting.stop();
    await send(upstream, [sentThreat(`${SECRET}-late`, { organization: 'acme' })]);
    const run = jest.spyOn(Projector.prototype, 'run');
    const count = COUNT_CHECKPOINTS_AT.run.bind(COUNT_CHECKPOINTS_AT);
    const failing = jest.spyOn(COUNT_CHECKPOINTS_AT, 'run').mockImplementation((...values) => {
      if (run.mock.calls.length > 0) throw new Error('the database was killed');
      return count(...values);
    });
    const { code, err } = await erase('acme', '--confirm', 'acme');
    expect([code, err]).toEqual([1, expect.stringContaining('the database was killed')]);
    expect(run.mock.results).toHaveLength(1);
    await Promise.all(run.mock.results.map(({ value }) => value as Promise<void>));
    failing.mockRestore();
    run.mockRestore();
    projecting = startProjecting(app.log, app.pool);
  });

  it('rejects a reader that waits for the feed, and leaves a reader of another organization waiting', async () => {
    const lastElementOf = async (organization: string): Promise<string> => {
      const { body } = await app.call('/v2/organization/feed', { key: keys[organization]! });
      return (body as { id: string }[]).at(-1)!.id;
    };
    const wait = (organization: string, lastEventId: string): Promise<ApiResponse> =>
      app.call(`/v2/organization/feed?lastEventId=${lastEventId}&timeout=25000`, { key: keys[organization]! });
    const [last, lastOfOther] = [await lastElementOf('acme'), await lastElementOf('acme-2')];
    const [waiting, other] = [wait('acme', last), wait('acme-2', lastOfOther)];
    const watch = app.app.get(FeedWatch, { strict: false });
    await eventually('both readers wait', () => watch.size === 2);
    const command = erase('acme', '--confirm', 'acme');
    expect((await waiting).status).toBe(401);
    expect(await command).toMatchObject({ code: 0 });
    expect(watch.size).toBe(1);
    await send(upstream, [sentThreat('t-after', { organization: 'acme-2' })]);
    expect(await other).toMatchObject({ status: 200, body: [{ subject: 't-after' }] });
    expect(await leaks()).toEqual([]);
  });

  it('refuses an append by a process that has not heard of the erasure', async () => {
    await database.pool.query(
      `insert into log.erased values (encode(sha256(convert_to($1 || ':acme', 'UTF8')), 'hex'), $1)`,
      [await app.log.id()],
    );
    for (const one of [...eventsOf('acme'), verdict('c-new', 'new.example', 'acme:wallet')].map((each) =>
      stored({ ...each, id: `${each.id}-again` }),
    ))
      await expect(app.log.append(one.stream, 'any', [one.event])).rejects.toThrow(
        'was erased, and its slug cannot be used again',
      );
    const other = stored(sentThreat('t-other', { organization: 'acme-2' }));
    await expect(app.log.append(other.stream, 'any', [other.event])).resolves.toBeDefined();
  });

  it('starts a rebuild in progress again, so that its tables do not bring the organization back', async () => {
    await beginErasureEarlier();
    const [metrics] = PROJECTIONS;
    let isErased = false;
    const source = { pool: database.pool, log: Object.create(app.log) as EventLog };
    // The rebuild has read a page with events of the organization before the log is rewritten.
    source.log.readAll = async (after, limit) => {
      const page = await app.log.readAll(after, limit);
      if (!isErased) {
        isErased = true;
        expect(await erase('acme', '--confirm', 'acme')).toMatchObject({ code: 0 });
      }
      return page;
    };
    await rebuild(source, [metrics!]);
    expect(isErased).toBe(true);
    expect(await leaks()).toEqual([]);
    expect(await verify({ pool: database.pool, log: app.log }, PROJECTIONS)).toEqual([]);
  });

  it('keeps the log from being copied until the erasure has finished', async () => {
    const failing = jest.spyOn(REWRITE_EVENTS, 'run').mockRejectedValueOnce(new Error('killed'));
    await erase('acme', '--confirm', 'acme');
    failing.mockRestore();
    await expect(copyLog(app.log, new InMemoryEventLog())).rejects.toThrow('has not finished');
  });

  it('counts with --dry-run and changes nothing, and asks for the slug again', async () => {
    const before = await dump();
    const { code, out } = await erase('acme', '--dry-run', '--json');
    expect([code, JSON.parse(out).events.ThreatStatusChanged]).toEqual([0, 4]);
    expect(await erase('acme', '--confirm', 'acme-2')).toMatchObject({ code: 2, out: '' });
    expect(await erase('nobody', '--confirm', 'nobody')).toMatchObject({ code: 1, out: '' });
    expect(await erase('nobody', '--dry-run')).toMatchObject({ code: 1, out: '' });
    expect(await erase('acme', '--dry-run', '--verify')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('either --dry-run or --verify'),
    });
    expect(await erase('Acme', '--dry-run')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('The organization must be a slug'),
    });
    const changing = /^(read\.checkpoints|service\.(key_uses|rejections|event_usage|ingest_usage)) /;
    const rest = (lines: string[]): string[] => lines.filter((line) => !changing.test(line));
    expect(rest(await dump())).toEqual(rest(before));
  });

  it('counts with --dry-run what the erasure then erases, for every table', async () => {
    const { rows: named } = await database.pool.query<{ key: string; webhook: string }>(`
      select (select data ->> 'keyId' from log.events where type = 'ApiKeyIssued' and data ->> 'organization' = 'acme') as key,
        (select id from read.webhook_endpoints where organization = 'acme') as webhook`);
    const { key, webhook } = named[0]!;
    for (const [table, values] of [
      ['key_uses', `('${key}', 1)`],
      ['webhook_progress', `('${webhook}', '{}')`],
      ['webhook_attempts', `('${webhook}', 1, '{}'), ('${webhook}', 2, '{}')`],
      ['webhook_tests', `('${eventId(sentThreat('any'))}', 'acme', '${webhook}', 1, null, null)`],
      ['dispute_contacts', `('acme', 'dp_1', '${SECRET}', 1)`],
    ])
      await database.pool.query(`insert into service.${table} values ${values} on conflict do nothing`);
    await beginErasureEarlier();
    const { rows } = JSON.parse((await erase('acme', '--dry-run', '--json')).out);
    expect(rows).toMatchObject({
      'service.key_uses': 1,
      'service.webhook_progress': 1,
      'service.webhook_attempts': 2,
      'service.webhook_tests': 1,
      'service.dispute_contacts': 1,
    });
    expect(JSON.parse((await erase('acme', '--confirm', 'acme', '--json')).out).rows).toEqual(rows);
  });

  it('leaves nothing of the organization in the statistics of the planner, also not of tables that became empty', async () => {
    await beginErasureEarlier();
    const statistics = async (): Promise<string[]> =>
      (
        await database.pool.query<{ line: string }>(`
          select concat_ws(' ', schemaname, tablename, attname, most_common_vals, histogram_bounds, most_common_elems) as line
          from pg_stats where schemaname in ('log', 'read', 'service') or schemaname like 'read_%'`)
      ).rows
        .map(({ line }) => line)
        .filter(namesAcme);
    await database.pool.query(`
      insert into service.dispute_contacts select 'acme', 'dp_' || i % 3 || i, '${SECRET}', 1 from generate_series(1, 50) i;
      create index contacts_by_length on service.dispute_contacts (lower(contact || '${SECRET}'))`);
    await database.pool.query('analyze');
    const schema = async (): Promise<unknown[]> =>
      (
        await database.pool.query(`
          select attrelid::regclass::text as relation, attname, format_type(atttypid, atttypmod), attcollation
          from pg_attribute a join pg_class c on c.oid = attrelid
          where relnamespace in ('log'::regnamespace, 'read'::regnamespace, 'service'::regnamespace) order by 1, 2`)
      ).rows;
    const before = await schema();
    const tables = (await statistics()).map((line) => line.split(' ').slice(0, 2).join('.'));
    for (const table of ['log.events', 'read.register', 'service.dispute_contacts', 'service.contacts_by_length'])
      expect(tables).toContain(table);
    expect(await erase('acme', '--confirm', 'acme')).toMatchObject({ code: 0 });
    expect(await statistics()).toEqual([]);
    expect(await schema()).toEqual(before);
  });

  it('says that another call is erasing the organization', async () => {
    const other = await database.pool.connect();
    const digest = erasureDigest(await app.log.id(), 'acme');
    await other.query('select pg_advisory_lock($1)', [BigInt(`0x${digest.slice(0, 15)}`)]);
    const second = await erase('acme', '--confirm', 'acme');
    other.release(true);
    expect(second).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('Another call is erasing acme. Repeat this call when the other has ended'),
    });
  });

  it('keeps no snapshot while it runs, so that the rows that it deletes can be removed', async () => {
    const step = ROW_STEPS[0]!.erase;
    const run = step.run.bind(step);
    const oldest: unknown[] = [];
    jest.spyOn(step, 'run').mockImplementation(async (connection, values) => {
      const { rows } = await database.pool.query(`
        select backend_xmin as snapshot from pg_stat_activity
        where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()
        order by xact_start limit 1`);
      oldest.push(...rows);
      return run(connection, values);
    });
    await beginErasureEarlier();
    expect((await erase('acme', '--confirm', 'acme')).code).toBe(0);
    expect(oldest.length).toBeGreaterThan(0);
    expect(oldest).toEqual(oldest.map(() => ({ snapshot: null })));
  });

  it('answers writes with 401 before the process knows that the key is invalid', async () => {
    await database.pool.query('insert into log.erased values ($1, $2)', [
      erasureDigest(await app.log.id(), 'acme'),
      await app.log.id(),
    ]);
    const key = keys['acme']!;
    const unauthorized = { status: 401, body: { code: 'UNAUTHORIZED' } };
    expect(
      await app.call('/v2/organization/asset-groups', { method: 'POST', key, json: { name: 'new' } }),
    ).toMatchObject(unauthorized);
    const url = 'https://new.example/hooks';
    expect(await app.call('/v2/organization/webhooks', { method: 'POST', key, json: { url } })).toMatchObject(
      unauthorized,
    );
    expect(await send(key, [sentThreat('new', { organization: 'acme' })])).toMatchObject(unauthorized);
  });

  it('erases an organization that exists only in the reviews of verdicts', async () => {
    const only = [verdict('c-3', 'third.example', 'reviewer:wallet', 'acme-2:wallet')];
    expect((await send(upstream, only)).body.accepted).toBe(1);
    await projecting.reached();
    await beginErasureEarlier();
    const { code, out } = await erase('reviewer', '--confirm', 'reviewer', '--json');
    expect([code, JSON.parse(out).events]).toEqual([0, { AssetStatusChanged: 1 }]);
    expect((await dump()).filter((line) => line.includes('reviewer'))).toEqual([]);
    expect(await verify({ pool: database.pool, log: app.log }, PROJECTIONS)).toEqual([]);
  });
});

describe('The tables', () => {
  let migrated: TestDatabase;
  beforeAll(async () => {
    migrated = await createDatabase();
  });
  afterAll(() => migrated.drop());

  it('each declare how the rows of an organization are found, if a column names one', async () => {
    const { rows } = await migrated.pool.query<{ name: string }>(`
      select distinct format('%s.%s', table_schema, table_name) as name from information_schema.columns
      where table_schema in ('read', 'service')
        and column_name ~ '^(organizations?|owner|reviews|counts|endpoint|key_id|(last_)?stream|sample)$'`);
    const declared = new Set(ROW_STEPS.map(({ table }) => table));
    const withoutOrganization = ['read.projector_leases'];
    expect(rows.map(({ name }) => name).filter((name) => !declared.has(name))).toEqual(withoutOrganization);
  });

  it('are erased by the index that begins with the organization, also where a sequential scan looks cheaper', async () => {
    await migrated.pool.query('analyze');
    const plans: Record<string, string> = {};
    const mocks = ROW_STEPS.map(({ table, erase: step }) =>
      jest.spyOn(step, 'run').mockImplementation(async (connection, { organization, limit }) => {
        const { rows } = await connection.query({ text: `explain ${step.text}`, values: [organization, limit] });
        if (step.text.includes('and (organization = $1::text)'))
          plans[table] = rows.map((row) => row['QUERY PLAN']).join('\n');
        return [{ rows: 0 }];
      }),
    );
    await eraseRows(migrated.pool, { organization: 'acme', logId: '', digest: '' }, () => {});
    for (const mock of mocks) mock.mockRestore();
    // The only table without such an index has few rows: a test call is deleted soon after its answer.
    delete plans['service.webhook_tests'];
    expect(Object.keys(plans).length).toBeGreaterThan(15);
    for (const plan of Object.values(plans)) expect(plan).toMatch(/Index (Only )?Scan using/);
    for (const plan of Object.values(plans)) expect(plan).not.toMatch(/Seq Scan|Bitmap/);
  });
});
