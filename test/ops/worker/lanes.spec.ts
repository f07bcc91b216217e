import { describe, expect, it } from '@jest/globals';
import { Lanes } from '../../../src/ops/worker.js';

describe('The lanes of a process', () => {
  it('are stuck independently, each after 10 s without a heartbeat', () => {
    let now = 0;
    const lanes = new Lanes(() => now);
    lanes.heartbeat('counts', true);
    lanes.heartbeat('records', false);
    now = 9_999;
    lanes.heartbeat('counts', true);
    now = 10_000;
    expect(lanes.stuck()).toEqual([]);
    now = 10_001;
    expect(lanes.stuck()).toEqual(['records']);
    lanes.heartbeat('records', true);
    expect(lanes.stuck()).toEqual([]);
    expect(lanes.list()).toMatchObject([
      { lane: 'counts', isHeld: true },
      { lane: 'records', isHeld: true },
    ]);
  });
});
