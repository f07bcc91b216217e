import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createPostgresLog } from '../../../src/event-log/postgres/log.js';
import { streamOf } from '../../../src/events/streams.js';
import { eventually, eventuallyPasses } from '../../support/eventually.js';
import { type CommandResult, operatorCall } from '../../support/operator-call.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';
import { type Health, operatorsPort } from './operators-port.js';

let database: TestDatabase;
let folder: string;
let service: Program;
let url: string;
let opsUrl: string;
let projectorUrl: string;

const callWith = (env: NodeJS.ProcessEnv, ...words: string[]): Promise<CommandResult> =>
  operatorCall({ DATABASE_URL: database.url, ...env }, ...words);
const call = (...words: string[]): Promise<CommandResult> => callWith({}, ...words);

/** Runs the call in a separate process. */
const callProcess = async (...words: string[]): Promise<CommandResult> => {
  const program = startProgram('src/cli.js', words, { env: { DATABASE_URL: database.url } });
  const code = await program.ended();
  return { code: code as number, out: program.out(), err: program.err() };
};

/** Makes a call that must succeed, and returns its JSON value. */
const ask = async <Value>(...words: string[]): Promise<Value> => {
  const { code, out, err } = await call(...words, '--json');
  expect([words.join(' '), code, err]).toEqual([words.join(' '), 0, expect.any(String)]);
  expect(out.endsWith('\n') && out.indexOf('\n') === out.length - 1).toBe(true);
  return JSON.parse(out) as Value;
};

const statusOf = async (key: string, path: string): Promise<number> =>
  (await fetch(url + path, { headers: { 'x-api-key': key } })).status;
const METRICS = '/v2/organization/metrics';
const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

const readiness = async (): Promise<{ status: string }> =>
  (await (await fetch(`${url}/health/ready`)).json()) as { status: string };

// The projector catches up within milliseconds, on a busy machine later.
const answers = (key: string, path: string, wanted: number): Promise<void> =>
  eventuallyPasses(async () => expect(await statusOf(key, path)).toBe(wanted));
const healthSays = (wanted: string): Promise<void> =>
  eventuallyPasses(async () => expect((await readiness()).status).toBe(wanted));

beforeAll(async () => {
  database = await createDatabase();
  folder = mkdtempSync(join(tmpdir(), 'threat-protection-operator-'));
  service = startProgram('src/cli.js', ['start'], {
    env: { DATABASE_URL: database.url, DATA_DIR: folder, PORT: '0', OPS_PORT: '0', PROJECTOR_OPS_PORT: '0' },
  });
  url = await service.listening();
  const urlIn = (what: string): string =>
    new RegExp(`${what} for operators on (http:[^"\\s]+)`).exec(service.output())?.[1] ?? '';
  await eventually('both processes have printed the URLs of their operators’ ports', () => {
    [opsUrl, projectorUrl] = [urlIn('Metrics and health details'), urlIn('Health and metrics')];
    return opsUrl !== '' && projectorUrl !== '';
  });
});
afterAll(async () => {
  await service?.stop();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

describe('The operator’s command, while the service runs', () => {
  it('prints a new key alone on standard output, and the key soon works', async () => {
    const { code, out, err } = await call(
      'keys',
      'issue',
      '--organization',
      'acme',
      '--scope',
      'read',
      '--name',
      'a b',
    );
    expect([code, out]).toEqual([0, expect.stringMatching(/^tp_[0-9A-Za-z]{36}\n$/)]);
    expect(err).toMatch(/key_[0-9a-f]{16}/);
    expect(err).not.toContain(out.trim());
    await answers(out.trim(), METRICS, 200);
  });

  it('lists the keys and revokes one', async () => {
    const { id, key } = await ask<{ id: string; key: string }>(
      ...'keys issue --organization acme --scope read --scope write --expires 2999-01-01'.split(' '),
    );
    await answers(key, METRICS, 200);
    const listed = await ask<{ id: string }[]>('keys', 'list');
    const record = {
      id,
      name: null,
      organization: 'acme',
      scopes: ['read', 'write'],
      createdAt: expect.stringMatching(/Z$/),
      expiresAt: '2999-01-01T00:00:00.000Z',
      revokedAt: null,
      lastUsedAt: null,
      issuedBy: userInfo().username,
      revokedBy: null,
    };
    expect(listed.find((each) => each.id === id)).toEqual(record);
    expect(await ask('keys', 'revoke', id)).toEqual({
      ...record,
      revokedAt: expect.stringMatching(/Z$/),
      revokedBy: userInfo().username,
    });
    await answers(key, METRICS, 401);
    expect((await call('keys', 'revoke', id)).code).toBe(1);
  });

  it('enables brand metrics by a flag and a brand, and disables them again', async () => {
    const { key } = await ask<{ key: string }>('keys', 'issue', '--organization', 'globex', '--scope', 'read');
    const path = `${METRICS}?brandSlug=wallet`;
    const [brand, flag] = [
      ['--organization', 'globex', '--brand', 'wallet'],
      ['--organization', 'globex', '--flag', 'brands-metrics'],
    ];
    await answers(key, path, 403);
    expect(await ask('flags', 'enable', ...flag)).toMatchObject({ enabled: true, changed: true });
    await answers(key, path, 404);
    expect(await ask('brands', 'add', ...brand, '--name', 'Wallet')).toMatchObject({ brand: 'wallet', changed: true });
    await answers(key, path, 200);
    expect(await ask('flags', 'enable', ...flag)).toMatchObject({ changed: false });
    expect(await ask('brands', 'list')).toEqual([{ organization: 'globex', brand: 'wallet', name: 'Wallet' }]);
    expect(await ask('flags', 'list')).toEqual([{ organization: 'globex', flag: 'brands-metrics', enabled: true }]);
    await ask('brands', 'remove', ...brand);
    await answers(key, path, 404);
    await ask('flags', 'disable', ...flag);
    await answers(key, path, 403);
    expect((await call('brands', 'remove', ...brand)).err).toMatch(/^Working on .*\nglobex has no brand wallet\n$/);
  });

  it('dates a change of a flag by the clock of the database, so that upstream can change it afterwards', async () => {
    const now = Date.now();
    const ahead = jest.spyOn(Date, 'now').mockReturnValue(now + 6 * 3_600_000);
    try {
      await ask('flags', 'enable', '--organization', 'fast-clock', '--flag', 'brands-metrics');
    } finally {
      ahead.mockRestore();
    }
    const [event] = await (
      await createPostgresLog(database.pool)
    ).readStream(
      streamOf({
        type: 'FeatureFlagChanged',
        data: { organization: 'fast-clock', flag: 'brands-metrics', enabled: true, updatedAt: 0 },
      }),
      0n,
      1,
    );
    expect(Math.abs(Date.parse((event!.data as { updatedAt: string }).updatedAt) - now)).toBeLessThan(60_000);
  });

  it('lists, retries and drops parked events, and recounts', async () => {
    const log = await createPostgresLog(database.pool);
    const id = '00000000-0000-4000-8000-000000000001';
    await log.append('threat-acme:t1', 'any', [{ id, type: 'ThreatStatusChanged', data: { odd: true }, metadata: {} }]);
    await healthSays('degraded');
    const row = (projection: string): object => ({
      eventId: id,
      projection,
      position: expect.stringMatching(/^\d+$/),
      revision: '0',
      stream: 'threat-acme:t1',
      type: 'ThreatStatusChanged',
      data: { odd: true },
      metadata: {},
      recordedAt: expect.stringMatching(ISO),
      parkedAt: expect.stringMatching(ISO),
      reason: expect.stringMatching(/./),
      attempts: 1,
    });
    // Each projection has its own lane, so one may be later than the other.
    await eventuallyPasses(async () => expect(await ask('parked', 'list')).toEqual(['metrics', 'register'].map(row)));
    const lines = (await call('parked', 'list')).out.trimEnd().split('\n');
    const begins = (projection: string): string => `${id} ${projection} ThreatStatusChanged in threat-acme:t1 since `;
    expect(lines).toEqual(
      ['metrics', 'register'].map((each) => expect.stringMatching(`^${begins(each)}\\S+, tried once: .`)),
    );
    expect((await call('parked', 'retry')).code).toBe(1);
    expect((await call('parked', 'drop', id)).code).toBe(2);
    expect((await call('parked', 'drop', id, '--reason', '-- sent by mistake')).code).toBe(0);
    expect(await call('parked', 'retry')).toMatchObject({ code: 0, out: 'Nothing is parked\n' });
    await healthSays('ready');
    const statuses = await ask<{ projection: string; parked: number }[]>('projections', 'status');
    expect(statuses.map(({ projection }) => projection)).toEqual(expect.arrayContaining(['metrics', 'register']));
    expect(statuses.filter(({ parked }) => parked > 0)).toEqual([]);
    expect((await call('projections', 'verify')).code).toBe(0);
    expect((await call('projections', 'rebuild', 'brands-and-flags')).code).toBe(0);
    expect((await call('projections', 'rebuild', 'nonsense')).code).toBe(2);
  });
});

describe('The operator’s command', () => {
  it('prints its result on standard output and messages on standard error, and sets an exit code', async () => {
    const [issued, wrongUsage, failed] = await Promise.all([
      callProcess('keys', 'issue', '--scope', 'ingest'),
      callProcess('keys', 'issue'),
      callProcess('keys', 'revoke', 'key_none'),
    ]);
    expect(issued).toEqual({
      code: 0,
      out: expect.stringMatching(/^tp_[0-9A-Za-z]{36}\n$/),
      err: expect.stringMatching(/^Working on .*\nThe key key_/),
    });
    expect(wrongUsage).toEqual({ code: 2, out: '', err: expect.stringMatching(/--scope/) });
    expect(failed).toEqual({ code: 1, out: '', err: expect.stringMatching(/^Working on .*\nUnknown key key_none\n$/) });
  });

  it('explains wrong usage on standard error, prints nothing else, and exits with 2', async () => {
    const wrongUsages = [
      [],
      ['keys', 'issue', '--scope', 'everything', '--organization', 'acme'],
      ['keys', 'issue', '--scope', 'read', '--organization', 'Acme'],
      ['keys', 'issue', '--scope', 'read', '--organization', 'acme', '--expires', 'soon'],
      ['keys', 'list', '--odd'],
      ['log', 'copy', '--to', ''],
      ['log', 'copy'],
      ['log', 'copy', '--to', 'esdb://127.0.0.1:1', '--url-file', '/none/such'],
      ['log', 'copy', '--to', 'esdb://admin:changeit@127.0.0.1:2113'],
      ['brands', 'add', '--organization', 'acme'],
      ['disputes', 'list', '--organization', 'Acme'],
      ['webhooks', 'list', '--organization', 'Acme'],
      ['flags', 'enable', '--organization', 'acme', '--organization=other', '--flag', 'brands-metrics'],
      ['parked', 'drop', 'some-id', '--reason', 'one', '--reason', 'another'],
      ['brands', 'add', '--organization', 'acme', '--brand', 'A brand'],
    ];
    const calls = await Promise.all(wrongUsages.map((words) => call(...words)));
    calls.forEach(({ code, out, err }, i) =>
      expect([wrongUsages[i], code, out, err]).toEqual([wrongUsages[i], 2, '', expect.stringMatching(/./)]),
    );
  });

  it('names the argument that is wrong, not the event or setting behind it', async () => {
    const words = ['keys', 'issue', '--scope', 'read', '--name', '', '--organization', 'Acme'];
    expect((await call(...words)).err).toMatch(
      /^Working on .*\nname must be a non-empty string\norganization must be a slug: 1 to 64 of a-z 0-9 -, not beginning with -\n$/,
    );
    expect((await call('log', 'copy', '--to', 'esdb://127.0.0.1:1?none=1')).err).toMatch(
      /^Working on .*\n--to has the unknown option "none"\n$/,
    );
    const missingFile = await call('events', 'send', '/none/such.ndjson');
    expect(missingFile).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(/^\/none\/such.ndjson cannot be read: /),
    });
  });

  it('exits with 1 if something failed, and with 78 if a setting is wrong', async () => {
    expect(await call('keys', 'revoke', 'key_none')).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(/^Working on .*\nUnknown key key_none\n$/),
    });
    const unavailable = await callWith({ DATABASE_URL: 'postgres://127.0.0.1:9/none' }, 'keys', 'list');
    expect([unavailable.code, unavailable.out]).toEqual([1, '']);
    const unset = await callWith({ PORT: 'often' }, 'keys', 'list');
    expect(unset).toEqual({ code: 78, out: '', err: expect.stringContaining('PORT is "often"') });
  });

  it('prints help on standard output', async () => {
    const help = await call('--help');
    expect([help.code, help.err]).toEqual([0, '']);
    for (const noun of [
      'keys',
      'brands',
      'flags',
      'events',
      'projections',
      'parked',
      'sources',
      'migrate',
      'log',
      'start',
    ])
      expect(help.out).toMatch(new RegExp(`^  ${noun} `, 'm'));
  });
});

operatorsPort(() => ({ url, opsUrl, projectorUrl }));

describe('The operator’s command, while the service does not run', () => {
  it('works after SIGTERM, and the operators’ port reports until the end that the service is stopping', async () => {
    const heldConnection = connect(Number(new URL(url).port), '127.0.0.1', () =>
      heldConnection.write('POST /v2/events HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n'),
    );
    heldConnection.on('error', () => {});
    await once(heldConnection, 'connect');
    // The service accepts connections in order, so it has accepted that connection once it answers this request.
    const [later] = (await once(get(`${url}/health/live`, { agent: false }), 'response')) as [IncomingMessage];
    later.resume();
    const ended = service.stop();
    await eventually('the API accepts no more connections', () =>
      fetch(`${url}/health/live`).then(
        () => false,
        () => true,
      ),
    );
    const response = await fetch(`${opsUrl}/health/ready`);
    expect([response.status, ((await response.json()) as Health).status]).toEqual([503, 'stopping']);
    heldConnection.destroy();
    expect(await ended).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
    expect((await call('migrate')).code).toBe(0);
    const before = await ask<unknown[]>('keys', 'list');
    await call('keys', 'issue', '--scope', 'ingest');
    expect(await ask<unknown[]>('keys', 'list')).toHaveLength(before.length + 1);
    expect((await call('projections', 'status')).code).toBe(0);
  });
});
