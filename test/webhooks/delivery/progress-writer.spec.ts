import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { Pool, QueryConfig } from 'pg';
import { ProgressWriter } from '../../../src/webhooks/delivery/progress-writer.js';
import { STORE_PROGRESS } from '../../../src/read-models/webhooks/statements.js';
import { UNTRIED } from './untried.js';

const ENDPOINT = Object.keys(STORE_PROGRESS.parameters).indexOf('endpoint');

/** A database whose statements end when the spec says so, and the endpoints that each was given. */
const slowDatabase = () => {
  const statements: { endpoints: unknown; end: () => void; fail: (error: Error) => void }[] = [];
  const query = ({ values }: QueryConfig) =>
    new Promise((resolve, fail) => {
      statements.push({ endpoints: values![ENDPOINT], end: () => resolve({ rows: [{ isHeld: true }] }), fail });
    });
  return { statements, pool: { query } as unknown as Pool };
};

/** Until the statements that are due have begun. */
const turn = async (): Promise<void> => {
  await setImmediate();
  await setImmediate();
};

describe('What attempts came to', () => {
  it('is written once for an endpoint that gives it again, because the statement before it failed', async () => {
    const { statements, pool } = slowDatabase();
    const writer = new ProgressWriter(pool, 1);
    const first = writer.store('a', UNTRIED).catch((error: Error) => error.message);
    await turn();
    const behind = writer.store('b', UNTRIED).catch((error: Error) => error.message);
    await turn();
    statements[0]!.fail(new Error('gone'));
    expect(await Promise.all([first, behind])).toEqual(['gone', 'gone']);

    const again = [writer.store('b', UNTRIED), writer.store('a', UNTRIED)];
    await turn();
    expect(statements.map(({ endpoints }) => endpoints)).toEqual([['a'], ['b', 'a']]);
    statements[1]!.end();
    await Promise.all(again);
  });
});
