import { randomBytes } from 'node:crypto';
import { Client, Pool } from 'pg';
import { migrate } from '../../src/read-models/migrate.js';
import { createPool } from '../../src/read-models/pool.js';

export interface TestDatabase {
  readonly url: string;
  readonly pool: Pool;
  drop(): Promise<void>;
}

const administer = async (statement: string): Promise<void> => {
  const client = new Client({ connectionString: process.env['TEST_DATABASE_URL'] });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
};

/** A database of the spec's own on the run's PostgreSQL, with the read models' tables (unless told not to). */
export const createDatabase = async ({ migrated = true } = {}): Promise<TestDatabase> => {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(`create database ${name}`);
  const url = new URL(process.env['TEST_DATABASE_URL']!);
  url.pathname = `/${name}`;
  const pool = createPool(url.href, () => {});
  if (migrated) await migrate(pool);
  return {
    url: url.href,
    pool,
    drop: async () => {
      await pool.end();
      await administer(`drop database ${name} with (force)`);
    },
  };
};
