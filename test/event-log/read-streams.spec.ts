import { describe, expect, it } from '@jest/globals';
import { Unavailable } from '../../src/errors.js';
import { readWithRetries } from '../../src/event-log/read-streams.js';

/** Creates a read that fails this many times and then succeeds. */
const failing = (times: number, error: Error): (() => Promise<number>) => {
  let calls = 0;
  return () => (++calls <= times ? Promise.reject(error) : Promise.resolve(calls));
};
const unavailable = new Unavailable('The log is down');

describe('A read of the log with retries', () => {
  it('is retried while the log is unavailable, with one message at the start and one at the end', async () => {
    const messages: string[] = [];
    expect(await readWithRetries(failing(3, unavailable), { onWait: (sentence) => messages.push(sentence) })).toBe(4);
    expect(messages).toEqual([
      'The log is unavailable (The log is down); waiting for at most 60 s',
      'The log is available again; the work continues',
    ]);
  });

  it('fails once the log has been unavailable for the timeout', async () => {
    await expect(readWithRetries(failing(Infinity, unavailable), { timeoutMs: 300 })).rejects.toBe(unavailable);
  });

  it('fails immediately with any error other than Unavailable', async () => {
    const broken = new Error('The log is broken');
    await expect(readWithRetries(failing(1, broken))).rejects.toBe(broken);
  });

  it('rejects with the reason of the stop signal', async () => {
    const stop = new AbortController();
    const read = readWithRetries(failing(Infinity, unavailable), { stop: stop.signal });
    stop.abort(new Error('The process ends'));
    await expect(read).rejects.toThrow('The process ends');
  });
});
