import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { DatabaseError, type Pool } from 'pg';
import { Unavailable } from '../../../src/errors.js';
import { PostgresWriter } from '../../../src/event-log/postgres/writer.js';

const errorWith = (code: string): DatabaseError => Object.assign(new DatabaseError(code, 0, 'error'), { code });
const REFUSED = errorWith('22P05');
const AWAY = errorWith('57P01');

/** A database that fails each statement with the next of these errors, and then with the last. */
const failingWith = (...errors: DatabaseError[]) => {
  let sent = 0;
  const query = () => Promise.reject(errors[Math.min(sent++, errors.length - 1)]!);
  return { pool: { query } as unknown as Pool, sent: () => sent };
};

it('an append that the database refuses is told apart from the others, until the database goes away', async () => {
  const { pool, sent } = failingWith(REFUSED, REFUSED, AWAY);
  const writer = new PostgresWriter(pool);
  const appends = Array.from({ length: 50 }, (_, n) =>
    writer.append({
      entries: [{ stream: `threat-${n}`, event: { id: randomUUID(), type: 'ThreatDeleted', data: {}, metadata: {} } }],
      expected: undefined,
    }),
  );
  const [first, ...others] = await Promise.allSettled(appends);
  expect(first).toEqual({ status: 'rejected', reason: REFUSED });
  for (const each of others) expect(each).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) });
  // All together, the first alone, the second alone. Each that is not answered takes a request's whole patience.
  expect(sent()).toBe(3);
});
