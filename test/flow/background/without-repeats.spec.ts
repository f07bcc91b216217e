import { describe, expect, it, jest } from '@jest/globals';
import { withoutRepeats } from '../../../src/flow/background.js';

describe('withoutRepeats', () => {
  it('writes each distinct line once a minute, and again after a recovery', () => {
    let now = 1_000;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    const written: string[] = [];
    const { write, recovered } = withoutRepeats((line) => written.push(line));
    for (const line of ['refused', 'refused', 'other', 'refused']) write(line);
    expect(written.splice(0)).toEqual(['refused', 'other']);
    now += 59_999;
    write('refused');
    expect(written).toEqual([]);
    now += 1;
    write('refused');
    write('refused');
    expect(written.splice(0)).toEqual(['refused']);
    recovered();
    write('refused');
    expect(written).toEqual(['refused']);
    clock.mockRestore();
  });
});
