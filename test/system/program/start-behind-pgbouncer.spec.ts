import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { prepareTables } from '../../../src/read-models/prepare-tables.js';
import { operatorCall } from '../../support/operator-call.js';
import {
  BY_TRANSACTION,
  PGBOUNCER,
  PGBOUNCER_PACKAGE,
  type PgBouncer,
  startPgBouncer,
} from '../../support/pgbouncer.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { startProgram } from '../../support/program.js';
import { describeWith } from '../../support/tools.js';

const PATIENCE_MS = 180_000;

describeWith(PGBOUNCER !== undefined, PGBOUNCER_PACKAGE)('Behind PgBouncer', () => {
  let database: TestDatabase;
  let pooler: PgBouncer | undefined;

  beforeAll(async () => {
    database = await createDatabase({ pooled: false });
  });
  afterAll(() => database.drop());

  const behind = async <Result>(
    settings: readonly string[],
    work: (url: string) => Promise<Result>,
  ): Promise<Result> => {
    pooler = await startPgBouncer(database.url, settings);
    try {
      return await work(pooler.url);
    } finally {
      await pooler.stop();
    }
  };

  const MISSING =
    'DATABASE_URL leads to a pooler that gives each transaction another connection: set DATABASE_DIRECT_URL';

  it(
    'each program ends with one line with what to do, and 78, if it has no direct address',
    () =>
      behind(BY_TRANSACTION, async (url) => {
        const formats = { 'src/main.js': 'json', 'projections/main.js': 'pretty' } as const;
        for (const [program, LOG_FORMAT] of Object.entries(formats)) {
          const env = { DATABASE_URL: url, PORT: '0', LOG_FORMAT };
          const ended = startProgram(program as keyof typeof formats, [], { env });
          expect({ program, code: await ended.ended() }).toEqual({ program, code: 78 });
          const lines = ended.said().trimEnd().split('\n');
          expect(lines).toEqual([expect.stringContaining(MISSING)]);
          if (LOG_FORMAT === 'json') expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'error' });
        }
      }),
    PATIENCE_MS,
  );

  it('refuses a direct address that is none, or of another database', () =>
    behind(BY_TRANSACTION, async (url) => {
      const prepared = (databaseDirectUrl?: string): Promise<void> =>
        prepareTables({ databaseUrl: url, databaseDirectUrl, migrates: true }, () => {});
      await expect(prepared()).rejects.toThrow(MISSING);
      await expect(prepared(url)).rejects.toThrow(
        'DATABASE_DIRECT_URL leads to a pooler that gives each transaction another connection',
      );
      const other = await createDatabase({ migrated: false, pooled: false });
      await expect(prepared(other.url)).rejects.toThrow(
        'DATABASE_DIRECT_URL leads to another database than DATABASE_URL',
      );
      await other.drop();
      await prepared(database.url);
      const verified = await operatorCall({ DATABASE_URL: url }, 'projections', 'verify');
      expect(verified).toMatchObject({ code: 1, err: expect.stringContaining(MISSING) });
    }));

  it('refuses one that gives each statement another connection', () =>
    behind(['pool_mode = statement'], async (url) => {
      const prepared = prepareTables({ databaseUrl: url, databaseDirectUrl: database.url, migrates: true }, () => {});
      await expect(prepared).rejects.toThrow('set its pool_mode = transaction');
    }));

  it('refuses a wrong password and a database that is not there with what to do', () =>
    behind(['pool_mode = session'], async (url) => {
      const wrong = new URL(url);
      wrong.password = 'wrong';
      await expect(prepareTables({ databaseUrl: wrong.href, migrates: true }, () => {})).rejects.toThrow(
        'correct user and password in DATABASE_URL',
      );
      wrong.href = url;
      wrong.pathname = '/nowhere';
      await expect(prepareTables({ databaseUrl: wrong.href, migrates: true }, () => {})).rejects.toThrow(
        'create it, or correct the name in DATABASE_URL',
      );
    }));

  it('with sessions, as Debian ships it, it prepares the tables', () =>
    behind(['pool_mode = session'], (url) =>
      prepareTables({ databaseUrl: url, migrates: true }, (line) => expect(line).toBeUndefined()),
    ));
});
