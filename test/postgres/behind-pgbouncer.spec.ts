import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { prepareTables } from '../../src/read-models/prepare-tables.js';
import { PGBOUNCER, type PgBouncer, startPgBouncer } from '../support/pgbouncer.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { startProgram } from '../support/program.js';
import { describeWith } from '../support/tools.js';

const PATIENCE_MS = 180_000;
const IGNORE = 'ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout';

describeWith(PGBOUNCER !== undefined, 'pgbouncer (apt-get install pgbouncer)')('Behind PgBouncer', () => {
  let database: TestDatabase;
  let pooler: PgBouncer | undefined;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  const behind = async <Result>(settings: string[], work: (url: string) => Promise<Result>): Promise<Result> => {
    pooler = await startPgBouncer(database.url, settings);
    try {
      return await work(pooler.url);
    } finally {
      await pooler.stop();
    }
  };

  it.each([
    ['as Debian ships it', 'pool_mode = session', [], 'a pooler that does not pass on the time limits', IGNORE],
    ['with transactions', 'pool_mode = transaction', [IGNORE], 'a transaction pooler', 'use its session pooling'],
  ])(
    '%s, the start of each program is one line with what to do, and 78',
    (_, mode, more, what, remedy) =>
      behind([mode, ...more], async (url) => {
        const formats = { 'src/main.js': 'json', 'projections/main.js': 'pretty' } as const;
        for (const [program, LOG_FORMAT] of Object.entries(formats)) {
          const env = { DATABASE_URL: url, PORT: '0', LOG_FORMAT };
          const ended = startProgram(program as keyof typeof formats, [], { env });
          expect({ program, code: await ended.ended() }).toEqual({ program, code: 78 });
          const lines = ended.said().trimEnd().split('\n');
          expect(lines).toEqual([expect.stringContaining(`DATABASE_URL leads to ${what}`)]);
          expect(lines[0]).toContain(remedy);
          if (LOG_FORMAT === 'json') expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'error' });
        }
      }),
    PATIENCE_MS,
  );

  it('refuses a wrong password and a database that is not there with what to do', () =>
    behind(['pool_mode = session', IGNORE], async (url) => {
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

  it('with sessions and told to ignore the limits, it prepares the tables', () =>
    behind(['pool_mode = session', IGNORE], (url) =>
      prepareTables({ databaseUrl: url, migrates: true }, (line) => expect(line).toBeUndefined()),
    ));
});
