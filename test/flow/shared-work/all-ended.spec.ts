import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { allEnded } from '../../../src/flow/shared-work.js';

describe('allEnded', () => {
  it('rejects with the first error only after every promise has settled', async () => {
    let end!: () => void;
    const slow = new Promise<void>((resolve) => (end = resolve));
    let error: unknown;
    const ended = allEnded([slow, Promise.reject(new Error('lost')), Promise.resolve()]).catch(
      (thrown: unknown) => (error = thrown),
    );
    await setImmediate();
    expect(error).toBeUndefined();
    end();
    await ended;
    expect(error).toEqual(new Error('lost'));
  });
});
