import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createKey } from '../../src/api-keys/key-ring.js';
import { withDatabase, withLog } from '../../src/cli/session.js';
import { readWithRetries } from '../../src/event-log/read-streams.js';
import { asUnavailable } from '../../src/postgres/transient-errors.js';
import { ConfigError, EXIT_CONFIG } from '../../src/runtime/config.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { sharedDatabase } from '../support/open-for-tests.js';
import { operatorCall } from '../support/operator-call.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

const database = sharedDatabase();

/** A sources file that refers to a variable. */
const SOURCES = {
  sources: [
    { id: 'own', kind: 'own' },
    { id: 'phishtank', kind: 'http', url: 'https://lookup.example', headers: { authorization: '${PHISHTANK_KEY}' } },
  ],
};

/** Every call that works on a database. */
const CALLS = [
  'keys issue --scope ingest',
  'keys list',
  'keys revoke 0',
  'brands add --organization acme --brand wallet',
  'brands remove --organization acme --brand wallet',
  'brands list',
  'flags enable --organization acme --flag brands-metrics',
  'flags disable --organization acme --flag brands-metrics',
  'flags list',
  'webhooks list',
  'webhooks disable --organization acme --id 00000000-0000-4000-8000-000000000000',
  'webhooks enable --organization acme --id 00000000-0000-4000-8000-000000000000',
  'disputes list',
  'projections status',
  'projections rebuild',
  'projections verify',
  'parked list',
  'parked retry',
  'parked drop 00000000-0000-4000-8000-000000000000 --reason test',
  'events send EVENTS',
  'events send --dry-run EVENTS',
  'sources status',
  'organizations usage',
  'organizations erase acme --dry-run',
  'organizations erase acme --confirm acme',
  'organizations erase acme --verify',
  'organizations export acme --to-file OUT',
  'organizations export acme --to-file OUT --dry-run',
  'organizations import FILE',
  'assets redact https://shop.example/',
  'retention apply --older-than 730d',
  'rejected list',
  'rejected clear',
  'log copy --to esdb://127.0.0.1:1?tls=false',
  'migrate',
];

describe('A call of the operator’s command', () => {
  let folder: string;
  let dataDir: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'threat-protection-session-'));
    dataDir = join(folder, 'none', 'data');
    writeFileSync(join(folder, 'events.jsonl'), '{}\n');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const call = (words: string, env: NodeJS.ProcessEnv) =>
    operatorCall(
      env,
      ...words.split(' ').map((word) => (/^(EVENTS|FILE|OUT)$/.test(word) ? join(folder, 'events.jsonl') : word)),
    );

  it.each(CALLS)('refuses `%s` without a database, and creates nothing on disk', async (words) => {
    const { code, out, err } = await call(words.replace('OUT', join(folder, 'out')), {
      DATABASE_URL: '',
      DATA_DIR: dataDir,
      THREAT_PROTECTION_API_KEY: '',
    });
    expect({ code, out, err }).toEqual({
      code: EXIT_CONFIG,
      out: '',
      err: expect.stringContaining(
        `There is no database: DATABASE_URL is not set, and DATA_DIR ${dataDir} holds no database. Use the settings of ` +
          'the service: --settings FILE reads its environment file',
      ),
    });
    expect(readdirSync(folder)).toEqual(['events.jsonl']);
  });

  it('says on standard error on which database it works, without user and password', async () => {
    const { host, pathname, port, username, password } = new URL(database.url);
    const { code, out, err } = await call('keys list --json', { DATABASE_URL: database.url, DATA_DIR: dataDir });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual(expect.any(Array));
    expect(err).toContain(`Working on the database "${pathname.slice(1)}" at `);
    if (host !== '') expect(err).toContain(port);
    for (const secret of [`${username}:`, password].filter((each) => each.length > 1))
      expect(err).not.toContain(secret);
    expect(existsSync(dataDir)).toBe(false);
  });

  it('names the database and the remedy if the database does not respond', async () => {
    const url = `postgres://u:secret@127.0.0.1:${await freePort()}/threats`;
    const { code, err } = await call('keys list', { DATABASE_URL: url });
    expect(code).toBe(1);
    expect(err).toMatch(
      /the database "threats" at 127\.0\.0\.1:\d+ is unavailable: .*ECONNREFUSED.*Start PostgreSQL or correct DATABASE_URL/,
    );
    expect(err).not.toContain('secret');
  });

  it('reads --settings before and after its name, and the file takes precedence over the environment', async () => {
    const file = join(folder, 'none.settings');
    const wrong = 'postgres://127.0.0.1:1/none';
    writeFileSync(file, `DATABASE_URL='${database.url}'\n`);
    try {
      for (const words of [
        `--settings ${file} keys list`,
        `--settings=${file} keys list`,
        `keys list --settings ${file}`,
      ]) {
        const { code, out } = await call(words, { DATABASE_URL: wrong, DATA_DIR: dataDir });
        expect([words, code, out]).toEqual([words, 0, expect.stringContaining('issuedBy')]);
      }
      const last = join(folder, 'last.settings');
      writeFileSync(last, 'DATABASE_URL=postgres://127.0.0.1:1/last\n');
      const { err } = await call(`--settings ${file} keys list --settings ${last}`, { DATA_DIR: dataDir });
      expect(err).toContain('Working on the database "last" at 127.0.0.1:1');
      rmSync(last);
    } finally {
      rmSync(file);
    }
  });

  it.each([
    ['RATE_LIMIT_PER_MIN', 'RATE_LIMIT_PER_MIN is unknown; did you mean RATE_LIMIT_PER_MINUTE?'],
    ['DATABSE_URL', 'DATABSE_URL is unknown; did you mean DATABASE_URL?'],
    ['WEBHOOK_MASTERKEY_FILE', 'WEBHOOK_MASTERKEY_FILE is unknown; did you mean WEBHOOK_MASTER_KEY_FILE?'],
    ['PHISHTANK_KEYS', 'PHISHTANK_KEYS is unknown; did you mean PHISHTANK_KEY?'],
    ['SOMETHING', 'SOMETHING is unknown; remove it; docs/reference/settings.md lists the settings'],
    ['MIGRATE', 'MIGRATE is no longer a setting: set MIGRATE_ON_START'],
  ])(
    'refuses the unknown name %s in the file of --settings, and names the setting that was meant',
    async (name, text) => {
      const [file, sources] = [join(folder, 'misspelt.settings'), join(folder, 'sources.json')];
      writeFileSync(sources, JSON.stringify(SOURCES));
      writeFileSync(file, `DATABASE_URL='${database.url}'\nSOURCES_FILE=${sources}\n${name}=1\n`);
      const { code, out, err } = await call(`keys list --settings ${file}`, { DATA_DIR: dataDir });
      expect({ code, out }).toEqual({ code: EXIT_CONFIG, out: '' });
      expect(err).toContain(text);
      rmSync(file);
      rmSync(sources);
    },
  );

  it('accepts variables of other programs and of the sources file in the file of --settings', async () => {
    const [file, sources] = [join(folder, 'shared.settings'), join(folder, 'sources.json')];
    writeFileSync(sources, JSON.stringify(SOURCES));
    const others = ['PGPASSFILE', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'OTEL_SERVICE_NAME', 'LANG', 'LC_ALL', 'TZ'];
    const more = ['HTTPS_PROXY', 'no_proxy', 'ALL_PROXY', 'POSTGRES_PASSWORD', 'COMPOSE_PROJECT_NAME', 'PHISHTANK_KEY'];
    const lines = [...others, ...more].map((name) => `${name}=`);
    writeFileSync(file, [`DATABASE_URL='${database.url}'`, `SOURCES_FILE=${sources}`, ...lines, ''].join('\n'));
    expect(await call(`keys list --settings ${file}`, { DATA_DIR: dataDir })).toMatchObject({ code: 0 });
    rmSync(file);
    rmSync(sources);
  });

  it('refuses a key in place of its id, without printing the key', async () => {
    const key = createKey();
    const { code, out, err } = await call(`keys revoke ${key}`, { DATABASE_URL: database.url, DATA_DIR: dataDir });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('is a key, not its id');
    expect(err).not.toContain(key);
  });

  it('finds a leaked key by its file, or by its header line, without printing the key', async () => {
    const env = { DATABASE_URL: database.url, DATA_DIR: dataDir };
    const [file, key] = [join(folder, 'leaked.header'), createKey()];
    const find = async (text: string) => {
      writeFileSync(file, text);
      const { code, out, err } = await call(`keys list --json --key-file ${file}`, env);
      expect(out + err).not.toContain(text.split('_')[1]!.trim());
      return { code, out, err };
    };
    const issued = JSON.parse((await call('keys issue --scope ingest --json', env)).out) as Record<
      'id' | 'key',
      string
    >;
    await call('keys issue --scope ingest', env);
    for (const text of [issued.key, `X-API-KEY: ${issued.key}\n`])
      expect(JSON.parse((await find(text)).out)).toMatchObject([{ id: issued.id, revokedAt: null }]);
    await call(`keys revoke ${issued.id}`, env);
    expect(JSON.parse((await find(issued.key)).out)).toMatchObject([{ id: issued.id, revokedAt: expect.any(String) }]);
    const unknown = await find(key);
    expect(unknown).toMatchObject({ code: 1, out: '', err: expect.stringContaining('does not contain this key') });
    const half = await find(key.slice(0, 20));
    expect(half).toMatchObject({ code: 2, out: '', err: expect.stringContaining('not a complete key') });
    rmSync(file);
  });

  it('ends with the exit code of a wrong setting if the file cannot be read', async () => {
    const { code, out, err } = await call('keys list --settings /none/such', { DATABASE_URL: database.url });
    expect({ code, out }).toEqual({ code: EXIT_CONFIG, out: '' });
    expect(err).toMatch(/^--settings \/none\/such cannot be read: ENOENT/);
  });

  it('needs no database to send events with a key', async () => {
    const { code, err } = await call(`events send --dry-run --url http://127.0.0.1:1 ${join(folder, 'none')}`, {
      DATABASE_URL: '',
      DATA_DIR: dataDir,
      THREAT_PROTECTION_API_KEY: 'tp_key',
    });
    expect(code).not.toBe(EXIT_CONFIG);
    expect(err).not.toContain('There is no database');
    expect(existsSync(dataDir)).toBe(false);
  });
});

describe('A call that the database refuses after its first connection', () => {
  const role = `role_${randomBytes(8).toString('hex')}`;
  let refusable: TestDatabase;
  let written = '';

  beforeAll(async () => {
    refusable = await createDatabase();
    await refusable.pool.query(`create role ${role} superuser login password 'good'`);
    const url = Object.assign(new URL(refusable.url), { username: role, password: 'good' });
    jest.replaceProperty(process, 'env', { ...process.env, DATABASE_URL: url.href });
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((written += String(text))));
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await refusable.pool.query(`drop owned by ${role}; drop role ${role}`);
    await refusable.drop();
  });
  beforeEach(() => refusable.pool.query(`alter role ${role} login`));

  const refuse = async (): Promise<void> => {
    await refusable.pool.query(`alter role ${role} nologin`);
    await refusable.pool.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role]);
  };

  it('names the cause, and asks to repeat the call instead of to change the settings', async () => {
    const refused = withDatabase(async (pool) => {
      await refuse();
      await eventually('the lost connection is known', () => pool.totalCount === 0);
      await pool.query('select 1');
    });
    await expect(refused).rejects.toThrow(
      /^The database cannot be used: role ".*" is not permitted to log in; correct .*\. Then repeat the call$/,
    );
    await expect(refused).rejects.not.toThrow(ConfigError);
  });

  it('names the database and the remedy if the connection of a statement is lost', async () => {
    const lost = withDatabase(async (pool) => {
      const connection = await pool.connect();
      try {
        await refuse();
        await connection.query('select 1');
      } finally {
        connection.release(true);
      }
    });
    await expect(lost).rejects.toThrow(/^the database .* is unavailable: .*\. Repeat the call once the database is/);
  });

  it('names them also if a module has already made the error one for clients of the API', async () => {
    const wrapped = withDatabase(async (pool) => {
      await refuse();
      await eventually('the lost connection is known', () => pool.totalCount === 0);
      await pool.query('select 1').catch((error: unknown) => Promise.reject(asUnavailable(error) as Error));
    });
    await expect(wrapped).rejects.toThrow(/^The database cannot be used: role .*\. Then repeat the call$/);
  });

  it('names the cause while it waits for the log', async () => {
    written = '';
    const head = await withLog(async ({ log, pool }) => {
      await refuse();
      await eventually('the lost connection is known', () => pool.totalCount === 0);
      const waiting = readWithRetries(() => log.head());
      await eventually('the cause is named', () => written.includes('is not permitted to log in; correct'));
      await refusable.pool.query(`alter role ${role} login`);
      return waiting;
    });
    expect(head).toBe(0n);
    expect(written.match(/is not permitted to log in/g)).toHaveLength(1);
  });
});
