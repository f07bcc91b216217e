import { describe, expect, it } from '@jest/globals';
import { RequestTimeout } from '../../../src/errors.js';
import { HURRIED_MS, UnfinishedBodies } from '../../../src/http/body/unfinished-bodies.js';
import { eventually } from '../../support/eventually.js';

describe('A body that is still arriving', () => {
  it('is rejected after half of its time only while memory is short', async () => {
    expect(HURRIED_MS).toBe(5_000);
    let [isMemoryShort, asked] = [false, 0];
    const bodies = new UnfinishedBodies(() => {
      asked += 1;
      return isMemoryShort;
    }, 1);
    const errors: unknown[] = [];
    const reject = (error: unknown): void => {
      errors.push(error);
      bodies.delete(body);
    };
    const body = bodies.add(reject);
    await eventually('it was looked at twice', () => asked > 1);
    expect(errors).toEqual([]);
    isMemoryShort = true;
    await eventually('it is rejected', () => errors.length === 1);
    expect(errors).toEqual([expect.any(RequestTimeout)]);
  });

  it('is left alone while it is young', async () => {
    let asked = 0;
    const bodies = new UnfinishedBodies(() => (asked += 1) > 0, 60_000);
    const errors: unknown[] = [];
    bodies.add((error) => errors.push(error));
    await eventually('it was looked at twice', () => asked > 1);
    expect(errors).toEqual([]);
  });
});
