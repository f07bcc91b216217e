import { expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { Unavailable } from '../../../src/errors.js';
import { createReadModels } from '../../../src/read-models/tables.js';

it('Kysely closes a connection on which a statement failed, and returns other connections to the pool', async () => {
  const released: unknown[] = [];
  let failure: Error | undefined = new Error('Query read timeout');
  const connection = {
    query: () => (failure ? Promise.reject(failure) : Promise.resolve({ command: 'SELECT', rowCount: 0, rows: [] })),
    release: (error?: Error) => released.push(error),
  };
  const pool = { connect: () => Promise.resolve(connection) } as unknown as Pool;
  const read = () => createReadModels(pool).selectFrom('brands').select('brand').execute();
  await expect(read()).rejects.toThrow(Unavailable);
  expect(released).toEqual([failure]);
  failure = undefined;
  expect(await read()).toEqual([]);
  expect(released).toHaveLength(2);
  expect(released[1]).toBeUndefined();
});
