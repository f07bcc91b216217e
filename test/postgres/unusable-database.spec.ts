import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isTransient } from '../../src/postgres/transient-errors.js';
import { asConfigError } from '../../src/postgres/unusable-database.js';
import { prepareTables } from '../../src/read-models/prepare-tables.js';
import { ConfigError } from '../../src/runtime/config.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { startFlakyServer } from '../support/flaky-server.js';

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });

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
      /permission denied for database .*grant create on database NAME to ROLE/,
    );
    await expect(withoutRight).rejects.toThrow(ConfigError);
  });

  it.each([
    'transaction blocks not allowed in statement pooling mode',
    'password authentication failed',
    'no such database: nowhere',
    'database "nowhere" does not exist',
  ])('is recognised by the message of PgBouncer, which uses one code for all errors: %s', (message) => {
    const error = coded('08P01', message);
    expect(asConfigError(error)).toMatchObject({ message: expect.stringContaining('DATABASE_URL'), cause: error });
    expect(isTransient(error)).toBe(false);
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
