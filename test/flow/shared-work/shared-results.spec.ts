import { describe, expect, it } from '@jest/globals';
import { SharedResults } from '../../../src/flow/shared-work.js';

const newResults = (maxSize: number) => {
  const results = new SharedResults<{ readonly text: string }>(maxSize, ({ text }) => text.length);
  let made = 0;
  const get = (key: string, text = key): Promise<{ readonly text: string }> =>
    results.get(key, () => {
      made += 1;
      return text === 'fails' ? Promise.reject(new Error('lost')) : Promise.resolve({ text });
    });
  return { get, made: () => made };
};

describe('SharedResults', () => {
  it('makes a result once, for calls while it is made and afterwards', async () => {
    const { get, made } = newResults(10);
    const [one, two] = [get('a'), get('a')];
    expect(made()).toBe(1);
    expect(await one).toBe(await two);
    expect(await get('a')).toBe(await one);
    await get('b');
    expect(made()).toBe(2);
  });

  it('shares a failure, but does not keep it', async () => {
    const { get, made } = newResults(10);
    const calls = [get('a', 'fails'), get('a', 'fails')];
    for (const call of calls) await expect(call).rejects.toThrow('lost');
    expect(await get('a')).toEqual({ text: 'a' });
    expect(made()).toBe(2);
  });

  it('drops the result that was not used for longest, beyond the maximum size', async () => {
    const { get, made } = newResults(10);
    for (const key of ['aaaa', 'bbbb', 'aaaa', 'cccc']) await get(key);
    expect(made()).toBe(3);
    await get('aaaa');
    expect(made()).toBe(3);
    await get('bbbb');
    expect(made()).toBe(4);
  });
});
