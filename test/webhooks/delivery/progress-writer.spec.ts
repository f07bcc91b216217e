import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { Pool, QueryConfig } from 'pg';
import { ProgressWriter } from '../../../src/webhooks/delivery/progress-writer.js';
import { STORE_PROGRESS } from '../../../src/read-models/webhooks/statements.js';
import { NO_FAILURES } from './no-failures.js';

const ENDPOINT = Object.keys(STORE_PROGRESS.parameters).indexOf('endpoint');

/** A database whose statements end when the spec ends them, with the endpoints that each statement wrote. */
const slowDatabase = () => {
  const statements: { endpoints: unknown; end: () => void; fail: (error: Error) => void }[] = [];
  const query = ({ values }: QueryConfig) =>
    new Promise((resolve, fail) => {
      statements.push({ endpoints: values![ENDPOINT], end: () => resolve({ rows: [{ isHeld: true }] }), fail });
    });
  return { statements, pool: { query } as unknown as Pool };
};

/** Waits until the statements that are due have started. */
const turn = async (): Promise<void> => {
  await setImmediate();
  await setImmediate();
};

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
});
