import { describe, expect, it } from '@jest/globals';
import { RequestTimeout } from '../../../src/errors.js';
import { LOW_MEMORY_TIMEOUT_MS, UnfinishedBodies } from '../../../src/http/body/body-reader.js';
import { eventually } from '../../support/eventually.js';

describe('A body that is still arriving', () => {
  it('is rejected after 5 s only while memory is low', async () => {
    expect(LOW_MEMORY_TIMEOUT_MS).toBe(5_000);
    let [isMemoryLow, memoryChecks] = [false, 0];
    const bodies = new UnfinishedBodies(() => {
      memoryChecks += 1;
      return isMemoryLow;
    }, 1);
    const errors: unknown[] = [];
    const reject = (error: unknown): void => {
      errors.push(error);
      bodies.delete(body);
    };
    const body = bodies.add(reject);
    await eventually('memory was checked twice', () => memoryChecks > 1);
    expect(errors).toEqual([]);
    isMemoryLow = true;
    await eventually('the body is rejected', () => errors.length === 1);
    expect(errors).toEqual([expect.any(RequestTimeout)]);
  });

  it('is not rejected before the timeout', async () => {
    let memoryChecks = 0;
    const bodies = new UnfinishedBodies(() => (memoryChecks += 1) > 0, 60_000);
    const errors: unknown[] = [];
    bodies.add((error) => errors.push(error));
    await eventually('memory was checked twice', () => memoryChecks > 1);
    expect(errors).toEqual([]);
  });
});
