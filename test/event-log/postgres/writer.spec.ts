import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { DatabaseError, type Pool } from 'pg';
import { Unavailable } from '../../../src/errors.js';
import { PostgresWriter } from '../../../src/event-log/postgres/writer.js';

const errorWith = (code: string): DatabaseError => Object.assign(new DatabaseError(code, 0, 'error'), { code });
const REJECTED = errorWith('22P05');
const UNAVAILABLE = errorWith('57P01');

/** Creates a database that fails each statement with the next of these errors, and then always with the last error. */
const failingWith = (...errors: DatabaseError[]) => {
  let sent = 0;
  const query = () => Promise.reject(errors[Math.min(sent++, errors.length - 1)]!);
  return { pool: { query } as unknown as Pool, sent: () => sent };
};

it('PostgresWriter rejects only the append that the database rejects, and all remaining appends once the database is unavailable', async () => {
  const { pool, sent } = failingWith(REJECTED, REJECTED, UNAVAILABLE);
  const writer = new PostgresWriter(pool);
  const appends = Array.from({ length: 50 }, (_, n) =>
    writer.append({
      entries: [{ stream: `threat-${n}`, event: { id: randomUUID(), type: 'ThreatDeleted', data: {}, metadata: {} } }],
      expected: undefined,
    }),
  );
  const [first, ...others] = await Promise.allSettled(appends);
  expect(first).toEqual({ status: 'rejected', reason: REJECTED });
  for (const each of others) expect(each).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) });
  // One statement for all appends, one for the first append, and one for the second append, which finds the database
  // unavailable.
  expect(sent()).toBe(3);
});
