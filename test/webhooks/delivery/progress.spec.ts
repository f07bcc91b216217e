import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { Pool, QueryConfig } from 'pg';
import { Lease } from '../../../src/read-models/lease.js';
import { type DeliveryAttempt, ProgressWriter } from '../../../src/webhooks/delivery/progress.js';
import type { EndpointResponse } from '../../../src/webhooks/delivery/send.js';
import { STORE_PROGRESS, WEBHOOKS_LANE } from '../../../src/webhooks/progress-sql.js';
import { textsIn } from '../../support/binary-array.js';
import { createDatabase } from '../../support/postgres.js';
import { NO_FAILURES } from './no-failures.js';

const ENDPOINT = Object.keys(STORE_PROGRESS.parameters).indexOf('endpoint');

/** A database whose statements end when the spec ends them, with the endpoints that each statement wrote. */
const slowDatabase = () => {
  const statements: { endpoints: unknown; end: () => void; fail: (error: Error) => void }[] = [];
  const query = ({ values }: QueryConfig) =>
    new Promise((resolve, fail) => {
      statements.push({
        endpoints: textsIn(values![ENDPOINT]),
        end: () => resolve({ rows: [{ isHeld: true }] }),
        fail,
      });
    });
  return { statements, pool: { query } as unknown as Pool };
};

/** Waits until the statements that are due have started. */
const turn = async (): Promise<void> => {
  await setImmediate();
  await setImmediate();
};

const attempted = (response: EndpointResponse): DeliveryAttempt => ({
  at: 1,
  deliveryId: 'msg_1',
  records: 1,
  response,
  durationMs: 5,
});

describe('ProgressWriter', () => {
  it('writes the progress of an endpoint once if it is stored again after an earlier statement failed', async () => {
    const { statements, pool } = slowDatabase();
    const writer = new ProgressWriter(pool, 1);
    const first = writer.store('a', NO_FAILURES).catch((error: Error) => error.message);
    await turn();
    const behind = writer.store('b', NO_FAILURES).catch((error: Error) => error.message);
    await turn();
    statements[0]!.fail(new Error('gone'));
    expect(await Promise.all([first, behind])).toEqual(['gone', 'gone']);

    const again = [writer.store('b', NO_FAILURES), writer.store('a', NO_FAILURES)];
    await turn();
    expect(statements.map(({ endpoints }) => endpoints)).toEqual([['a'], ['b', 'a']]);
    statements[1]!.end();
    await Promise.all(again);
  });

  it('stores the progress of all endpoints if PostgreSQL rejects the response body of one of them', async () => {
    const database = await createDatabase();
    try {
      const lease = new Lease(database.pool, WEBHOOKS_LANE, { onError: () => {} });
      const writer = new ProgressWriter(database.pool, (await lease.acquire(new AbortController().signal))!);
      const failure = (answer: string) => ({ at: 1, status: 500, error: 'responded with 500', answer });
      const response = { status: 500, error: 'responded with 500' };
      await Promise.all([
        writer.store('a', { ...NO_FAILURES, tries: 1, lastFailure: failure('\ud83d') }, attempted(response)),
        writer.store('b', { ...NO_FAILURES, tries: 1, lastFailure: failure('busy') }, attempted(response)),
        writer.store('c', { ...NO_FAILURES, position: 20 }, attempted({ status: 200 })),
      ]);
      const { rows } = await database.pool.query('select endpoint, progress from service.webhook_progress order by 1');
      expect(rows).toEqual([
        { endpoint: 'a', progress: { ...NO_FAILURES, tries: 1, lastFailure: failure('') } },
        { endpoint: 'b', progress: { ...NO_FAILURES, tries: 1, lastFailure: failure('busy') } },
        { endpoint: 'c', progress: { ...NO_FAILURES, position: 20 } },
      ]);
      const attempts = await database.pool.query('select endpoint, number from service.webhook_attempts order by 1');
      expect(attempts.rows).toEqual(['a', 'b', 'c'].map((endpoint) => ({ endpoint, number: 1 })));
    } finally {
      await database.drop();
    }
  });

  it('fails only the progress that PostgreSQL rejects even without the response body', async () => {
    const database = await createDatabase();
    try {
      const lease = new Lease(database.pool, WEBHOOKS_LANE, { onError: () => {} });
      const writer = new ProgressWriter(database.pool, (await lease.acquire(new AbortController().signal))!);
      const [bad, good] = await Promise.allSettled([
        writer.store('a', { ...NO_FAILURES, logId: '\ud83d' }),
        writer.store('b', NO_FAILURES),
      ]);
      expect(bad).toMatchObject({ status: 'rejected', reason: { code: '22P02' } });
      expect(good).toEqual({ status: 'fulfilled', value: undefined });
    } finally {
      await database.drop();
    }
  });
});
