import { expect, it } from '@jest/globals';
import { prepareTables } from '../../../src/read-models/prepare-tables.js';
import { operatorCall } from '../../support/operator-call.js';
import {
  BY_TRANSACTION,
  KEEPS_STATEMENTS,
  LOSING_STATEMENTS,
  PGBOUNCER,
  PGBOUNCER_PACKAGE,
  type PgBouncer,
  startPgBouncer,
} from '../../support/pgbouncer.js';
import { createDatabase } from '../../support/postgres.js';
import { sharedDatabase } from '../../support/open-for-tests.js';
import { startProgram } from '../../support/program.js';
import { describeWith } from '../../support/tools.js';

const TIMEOUT_MS = 180_000;

describeWith(PGBOUNCER !== undefined, PGBOUNCER_PACKAGE)('Behind PgBouncer', () => {
  const database = sharedDatabase();
  let pooler: PgBouncer | undefined;

  const withPooler = async <Result>(
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

  const MISSING = 'DATABASE_URL leads to a pooler in transaction mode: set DATABASE_DIRECT_URL';
  const LOSES_STATEMENTS =
    'The database URL leads to a pooler in transaction mode that does not track prepared statements: use PgBouncer 1.21 ' +
    'or later with max_prepared_statements above 0, or set pool_mode = session';
  const prepared = (databaseUrl: string, databaseDirectUrl?: string): Promise<void> =>
    prepareTables({ databaseUrl, databaseDirectUrl, migrates: true }, () => {});

  it(
    'each program logs one line with what to do and exits with 78 if the pooler loses prepared statements',
    () =>
      withPooler(LOSING_STATEMENTS, async (url) => {
        const formats = { 'src/main.js': 'json', 'projections/main.js': 'pretty' } as const;
        for (const [program, LOG_FORMAT] of Object.entries(formats)) {
          const env = { DATABASE_URL: url, DATABASE_DIRECT_URL: database.url, PORT: '0', LOG_FORMAT };
          const ended = startProgram(program as keyof typeof formats, [], { env });
          expect({ program, code: await ended.ended() }).toEqual({ program, code: 78 });
          const lines = ended.output().trimEnd().split('\n');
          expect(lines).toEqual([expect.stringContaining(LOSES_STATEMENTS)]);
          if (LOG_FORMAT === 'json') expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'error' });
        }
        const listed = await operatorCall({ DATABASE_URL: url }, 'keys', 'list');
        expect(listed).toMatchObject({ code: 78, err: expect.stringContaining(LOSES_STATEMENTS) });
        await expect(prepared(database.url, url)).rejects.toThrow(LOSES_STATEMENTS);
      }),
    TIMEOUT_MS,
  );

  // Debian 12 has PgBouncer 1.18, which does not track prepared statements.
  (KEEPS_STATEMENTS ? it : it.skip)(
    'requires DATABASE_DIRECT_URL in transaction mode, without a pooler and to the same database',
    () =>
      withPooler(BY_TRANSACTION, async (url) => {
        await expect(prepared(url)).rejects.toThrow(MISSING);
        await expect(prepared(url, url)).rejects.toThrow('DATABASE_DIRECT_URL leads to a pooler in transaction mode');
        const other = await createDatabase({ migrated: false });
        await expect(prepared(url, other.url)).rejects.toThrow(
          'DATABASE_DIRECT_URL and DATABASE_URL lead to different databases',
        );
        await other.drop();
        await prepared(url, database.url);
        for (const call of [
          ['projections', 'verify'],
          ['keys', 'list'],
        ])
          expect(await operatorCall({ DATABASE_URL: url }, ...call)).toMatchObject({
            code: 1,
            err: expect.stringContaining(MISSING),
          });
      }),
  );

  it('rejects a pooler in statement mode', () =>
    withPooler(['pool_mode = statement', ...LOSING_STATEMENTS.slice(1)], (url) =>
      expect(prepared(url, database.url)).rejects.toThrow('set pool_mode = session'),
    ));

  it('reports what to do about a wrong password and a missing database', () =>
    withPooler(['pool_mode = session'], async (url) => {
      const wrongUrl = new URL(url);
      wrongUrl.password = 'wrong';
      await expect(prepareTables({ databaseUrl: wrongUrl.href, migrates: true }, () => {})).rejects.toThrow(
        'correct the user and password in DATABASE_URL',
      );
      wrongUrl.href = url;
      wrongUrl.pathname = '/nowhere';
      await expect(prepareTables({ databaseUrl: wrongUrl.href, migrates: true }, () => {})).rejects.toThrow(
        'create the database, or correct its name in DATABASE_URL',
      );
    }));

  it('migrates the tables through a pooler in session mode', () =>
    withPooler(['pool_mode = session'], (url) =>
      prepareTables({ databaseUrl: url, migrates: true }, (line) => expect(line).toBeUndefined()),
    ));
});
