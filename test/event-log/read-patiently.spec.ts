import { describe, expect, it } from '@jest/globals';
import { Unavailable } from '../../src/errors.js';
import { readPatiently } from '../../src/event-log/read-patiently.js';

/** A read that fails this many times. */
const failing = (times: number, error: Error): (() => Promise<number>) => {
  let calls = 0;
  return () => (++calls <= times ? Promise.reject(error) : Promise.resolve(calls));
};
const away = new Unavailable('The log is away');

describe('A patient read of the log', () => {
  it('is repeated while the log is unavailable, and tells the operator once when that begins and once when it ends', async () => {
    const said: string[] = [];
    expect(await readPatiently(failing(3, away), { onWait: (sentence) => said.push(sentence) })).toBe(4);
    expect(said).toEqual([
      'The log is unavailable (The log is away); waiting for at most 60 s',
      'The log answers again; the work continues',
    ]);
  });

  it('fails once the log has been unavailable for too long', async () => {
    await expect(readPatiently(failing(Infinity, away), { patienceMs: 300 })).rejects.toBe(away);
  });

  it('fails at once if the log is not unavailable', async () => {
    const broken = new Error('The log is broken');
    await expect(readPatiently(failing(1, broken))).rejects.toBe(broken);
  });

  it('ends with the reason for which it is stopped', async () => {
    const stop = new AbortController();
    const read = readPatiently(failing(Infinity, away), { stop: stop.signal });
    stop.abort(new Error('The process ends'));
    await expect(read).rejects.toThrow('The process ends');
  });
});
