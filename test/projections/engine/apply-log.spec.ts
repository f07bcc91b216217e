import { expect, it } from '@jest/globals';
import { withShadowTables } from '../../../projections/engine/apply-log.js';
import { sharedDatabase } from '../../support/open-for-tests.js';

const database = sharedDatabase({ migrated: false });

it('withShadowTables closes the connection with the lock if the server is read-only or the connection is lost', async () => {
  const { pool } = database;
  for (const [before, code] of [
    ['set default_transaction_read_only = on', '25006'],
    ['select pg_terminate_backend(pg_backend_pid())', '57P01'],
  ] as const) {
    const work = withShadowTables(pool, [], 'A test', async (lockConnection) => {
      await lockConnection.query(before);
      await lockConnection.query('create table t (a int)');
    });
    await expect(work).rejects.toMatchObject({ code });
    expect(pool.totalCount).toBe(0);
  }
});
