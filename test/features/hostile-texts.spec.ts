import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createPostgresLog } from '../../src/event-log/postgres/log.js';
import { API_KEYS_STREAM } from '../../src/events/streams.js';
import { type CommandResult, operatorCall } from '../support/operator-call.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

/** Clears the screen, forges a line, reverses the text direction, and hides a tag. */
const HOSTILE = 'x\u001b[2J\u009b31m\r\nforged  line\u202Etxt.exe\u2066\u2028\u200b\ufeff\u{e0041}\u007f';
/** The escaped form of the second half of `HOSTILE`, also within JSON. */
const SHOWN = 'forged  line\\u{202E}txt.exe\\u{2066}\\u{2028}\\u{200B}\\u{FEFF}\\u{E0041}\\u{7F}';
const UNSAFE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const AT = '2026-01-01T00:00:00.000Z';

let database: TestDatabase;
let folder: string;
/** A server that rejects every request with a hostile message. */
let server: Server;

const call = (...words: string[]): Promise<CommandResult> =>
  operatorCall(
    {
      DATABASE_URL: database.url,
      EVENTSTORE_URL: '',
      DATA_DIR: folder,
      SOURCES_FILE: join(folder, 'sources.json'),
      THREAT_PROTECTION_API_KEY: 'tp_test',
    },
    ...words,
  );

beforeAll(async () => {
  database = await createDatabase();
  folder = await mkdtemp(join(tmpdir(), 'hostile-texts-'));
  const log = await createPostgresLog(database.pool);
  await log.append(API_KEYS_STREAM, 'any', [
    {
      id: '00000000-0000-4000-8000-000000000001',
      type: 'ApiKeyIssued',
      data: { keyId: 'key_1', keyHash: 'a'.repeat(64), name: HOSTILE, scopes: ['ingest'], createdAt: AT },
      metadata: {},
    },
  ]);
  const event = '00000000-0000-4000-8000-000000000002';
  await database.pool.query("insert into read.brands values ('acme', 'a', $1, true, 1, $2)", [HOSTILE, event]);
  await database.pool.query("insert into read.feature_flags values ('acme', $1, true, 1, $2)", [HOSTILE, event]);
  await database.pool.query(
    `insert into read.parked_events (projection, event_id, position, stream, revision, type, data, metadata, reason, parked_at)
     values ('metrics', $2, 7, $1, 3, $1, '{"position":7}', '{}', $1, 0), ('register', $2, 8, $1, 3, $1, '{}', '{}', $1, 0)`,
    [HOSTILE, event],
  );
  const sources = [
    { id: 'own', kind: 'own' },
    { id: 'list', kind: 'list', format: 'plain', file: 'none.txt' },
  ];
  await writeFile(join(folder, 'sources.json'), JSON.stringify({ sources }));
  await mkdir(join(folder, 'lists'));
  const state = { id: 'list', origin: 'x', entries: 1, validators: {}, lastError: HOSTILE, lastErrorAt: 0 };
  await writeFile(join(folder, 'lists', 'list.json'), JSON.stringify(state));
  await writeFile(join(folder, 'events.ndjson'), '{}');
  server = createServer((request, response) => {
    request.resume();
    const rejected = [{ index: 0, id: HOSTILE, issues: [{ message: HOSTILE }] }];
    response.end(JSON.stringify({ accepted: 0, duplicates: 0, rejected }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  server?.close();
  await rm(folder, { recursive: true });
  await database?.drop();
});

const sendCall = (): string[] => [
  'events',
  'send',
  join(folder, 'events.ndjson'),
  '--url',
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
];

describe('A hostile text that is stored', () => {
  it.each([
    ['keys list', 1],
    ['brands list', 1],
    ['flags list', 1],
    ['parked list', 6],
    ['parked retry', 2],
    ['sources status', 1],
    ['projections verify', 1],
    ['events send', 2],
  ])('is printed escaped by %s, and unchanged as a JSON string with --json', async (words, minOccurrences) => {
    const args = words === 'events send' ? sendCall() : words.split(' ');
    const { out, err } = await call(...args);
    expect(`${out}${err}`).not.toMatch(UNSAFE);
    expect(out.split(SHOWN).length - 1).toBeGreaterThanOrEqual(minOccurrences);
    expect(out).not.toMatch(/^forged/m);
    const asJson = await call(...args, '--json');
    expect(`${asJson.out}${asJson.err}`).not.toMatch(UNSAFE);
    expect(asJson.out.trimEnd().split('\n')).toHaveLength(1);
    const texts: unknown[] = [];
    JSON.parse(asJson.out, (_, value: unknown) => {
      texts.push(value);
      return value;
    });
    expect(texts.some((text) => text === HOSTILE || String(text).includes(HOSTILE))).toBe(true);
  });

  it('is also escaped in an error message', async () => {
    const { err } = await call('projections', 'rebuild', HOSTILE);
    expect(err).not.toMatch(UNSAFE);
    expect(err).not.toMatch(/^forged/m);
    expect(err).toContain('\\u{202E}txt.exe');
  });
});

describe('A position in JSON', () => {
  it('is a string, also in parked events, and the data of upstream stays unchanged', async () => {
    const parked = JSON.parse((await call('parked', 'list', '--json')).out) as unknown[];
    expect(parked).toContainEqual(expect.objectContaining({ position: '8', revision: '3' }));
    expect(parked).toContainEqual(expect.objectContaining({ revision: '3', data: { position: 7 } }));
  });
});
