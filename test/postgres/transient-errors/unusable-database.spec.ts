import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isTransient, asConfigError } from '../../../src/postgres/transient-errors.js';
import { prepareTables } from '../../../src/read-models/prepare-tables.js';
import { ConfigError } from '../../../src/runtime/config.js';
import { CERTIFICATE, KEY } from '../../support/eventstore-double/certificate.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { startFlakyServer } from '../../support/flaky-server.js';
import { queryOnce } from '../../support/query-once.js';

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });

/** Starts a server that accepts the request for TLS of a PostgreSQL client and has a self-signed certificate. */
const startTlsServer = async (): Promise<{ readonly url: string; readonly close: () => void }> => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write('S');
      new TLSSocket(socket, { isServer: true, key: KEY, cert: CERTIFICATE }).on('error', () => socket.destroy());
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `postgres://u:p@127.0.0.1:${(server.address() as AddressInfo).port}/d`;
  return { url, close: () => void server.close() };
};

describe('A database that cannot be used', () => {
  let database: TestDatabase;
  const role = `role_${randomBytes(8).toString('hex')}`;

  beforeAll(async () => {
    database = await createDatabase({ migrated: false });
    await database.pool.query(`create role ${role} login password 'good'`);
  });
  afterAll(async () => {
    await database.pool.query(`drop role ${role}`);
    await database.drop();
  });

  const urlWith = (change: (url: URL) => void): string => {
    const url = new URL(database.url);
    Object.assign(url, { username: role, password: 'good' });
    change(url);
    return url.href;
  };
  const prepared = (url: string): Promise<void> => prepareTables({ databaseUrl: url, migrates: true }, () => {});

  it('is reported with what to do: a wrong password, a missing database, a missing privilege', async () => {
    await expect(prepared(urlWith((url) => (url.password = 'bad')))).rejects.toThrow(
      /password authentication failed for user ".*"; correct the user and password in DATABASE_URL/,
    );
    await expect(prepared(urlWith((url) => (url.pathname = '/nowhere')))).rejects.toThrow(
      /"nowhere" does not exist; create the database, or correct its name in DATABASE_URL/,
    );
    const withoutRight = prepared(urlWith(() => {}));
    await expect(withoutRight).rejects.toThrow(
      /permission denied for database .*grant connect, create on database NAME to ROLE/,
    );
    await expect(withoutRight).rejects.toThrow(ConfigError);
  });

  it.each([
    ['LATIN1', false],
    ['SQL_ASCII', true],
  ] as const)('is rejected if its encoding cannot store every character: %s', async (encoding, isUsable) => {
    const name = `test_${randomBytes(8).toString('hex')}`;
    await database.pool.query(`create database ${name} encoding '${encoding}' locale 'C' template template0`);
    const { href } = Object.assign(new URL(database.url), { pathname: `/${name}` });
    const migration = prepared(href);
    await (isUsable
      ? expect(migration).resolves.toBeUndefined()
      : expect(migration).rejects.toEqual(
          new ConfigError(
            `The database cannot be used: its encoding is ${encoding}, which cannot store all characters; create a ` +
              "database with encoding 'UTF8' template template0, and name it in DATABASE_URL",
          ),
        ));
    if (isUsable) expect(await queryOnce(href, "select '品' as text")).toEqual([{ text: '品' }]);
    await database.pool.query(`drop database ${name} with (force)`);
  });

  it('is reported with what to set if the certificate of its server is not trusted or cannot be read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
    const server = await startTlsServer();
    const broken = join(folder, 'broken.pem');
    writeFileSync(broken, '-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n');
    for (const parameters of ['sslmode=require', 'sslmode=verify-full', `sslmode=verify-full&sslrootcert=${broken}`]) {
      const attempt = prepared(`${server.url}?${parameters}`);
      await expect(attempt).rejects.toThrow(/sslrootcert=FILE in DATABASE_URL, or set sslmode=no-verify/);
      await expect(attempt).rejects.toThrow(ConfigError);
    }
    await expect(prepared(urlWith((url) => (url.search = 'sslmode=require')))).rejects.toThrow(
      'The database cannot be used: The server does not support SSL connections; enable TLS on the server',
    );
    server.close();
    rmSync(folder, { recursive: true });
  });

  it('is reported with what to do if the certificate of its server is that of another host', () => {
    const error = coded('ERR_TLS_CERT_ALTNAME_INVALID', "Hostname/IP does not match certificate's altnames");
    expect(asConfigError(error)).toMatchObject({
      message: expect.stringMatching(/altnames; name a host of the certificate in DATABASE_URL/),
      cause: error,
    });
    expect(isTransient(error)).toBe(true);
  });

  it('is not reported if the certificate of its server has expired, because the server may renew it', () => {
    const error = coded('CERT_HAS_EXPIRED', 'certificate has expired');
    expect(asConfigError(error)).toBe(error);
    expect(isTransient(error)).toBe(true);
  });

  it.each([
    'transaction blocks not allowed in statement pooling mode',
    'password authentication failed',
    'no such database: nowhere',
    'database "nowhere" does not exist',
  ])('is recognised by the message of PgBouncer, which uses one code for all errors: %s', (message) => {
    const error = coded('08P01', message);
    expect(asConfigError(error)).toMatchObject({ message: expect.stringContaining('DATABASE_URL'), cause: error });
    expect(isTransient(error)).toBe(true);
  });

  it('is not confused with a database that a pooler temporarily cannot reach', () => {
    const error = coded('08P01', 'server login has been failing, try again later (server_login_retry)');
    expect(asConfigError(error)).toBe(error);
    expect(isTransient(error)).toBe(true);
  });
});

describe('A database that is unavailable at the start', () => {
  it('is logged as a warning for each retry, and once more when it is available again', async () => {
    const database = await createDatabase({ migrated: false });
    const { url, close } = await startFlakyServer(database.url, 2);
    const logged: string[] = [];
    await prepareTables({ databaseUrl: url, migrates: true }, (sentence, level = 'info') =>
      logged.push(`${level} ${sentence}`),
    );
    expect(logged.at(-1)).toBe('info The database is available again');
    expect(logged.slice(0, -1)).not.toEqual([]);
    for (const line of logged.slice(0, -1)) expect(line).toMatch(/^warn The database is unavailable: .*; retrying in/);
    close();
    await database.drop();
  });
});
