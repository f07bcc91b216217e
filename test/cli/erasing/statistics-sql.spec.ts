import { expect, it } from '@jest/globals';
import { COLUMNS_WITH_STATISTICS } from '../../../src/cli/erasing/statistics-sql.js';
import { inTransaction } from '../../../src/postgres/transaction.js';
import { newDatabase } from '../../support/open-for-tests.js';

const database = newDatabase();

it('The statistics of a table are found by its owner, who need not be a superuser', async () => {
  await database.pool.query(`
    create table read.names (name text collate "C", n integer);
    insert into read.names select 'name ' || n, n from generate_series(1, 100) n;
    analyze read.names`);
  const role = `owner_of_names_${process.pid}_${Date.now()}`;
  await database.pool.query(
    `create role ${role}; grant usage on schema read to ${role}; alter table read.names owner to ${role}`,
  );
  try {
    const rows = await inTransaction(database.pool, async (connection) => {
      await connection.query(`set local role ${role}`);
      return COLUMNS_WITH_STATISTICS.run(connection, { table: 'read.names' });
    });
    expect(rows).toEqual([
      { column: 'name', type: 'text collate pg_catalog."C"' },
      { column: 'n', type: 'integer' },
    ]);
  } finally {
    await database.pool.query(`drop owned by ${role}; drop role ${role}`);
  }
});
