import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { withTablesBeside } from '../../../projections/engine/apply-log.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';

let database: TestDatabase;
beforeAll(async () => void (database = await createDatabase({ migrated: false })));
afterAll(() => database.drop());

it('closes the connection that holds the lock if its server refuses a write or ends the connection', async () => {
  const { pool } = database;
  for (const [before, code] of [
    ['set default_transaction_read_only = on', '25006'],
    ['select pg_terminate_backend(pg_backend_pid())', '57P01'],
  ] as const) {
    const work = withTablesBeside(pool, [], 'A test', async (guard) => {
      await guard.query(before);
      await guard.query('create table t (a int)');
    });
    await expect(work).rejects.toMatchObject({ code });
    expect(pool.totalCount).toBe(0);
  }
});
