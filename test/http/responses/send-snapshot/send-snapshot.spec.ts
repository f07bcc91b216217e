import { describe, expect, it } from '@jest/globals';
import { formatInstant } from '../../../../src/events/instant.js';
import { entityTag, sharedText } from '../../../../src/http/responses/send-snapshot.js';

describe('The text of a result', () => {
  it('is created once per media type, even for concurrent requests', async () => {
    const snapshot = { result: { n: 1 }, asOf: 0, position: 0 };
    let created = 0;
    const make = async ({ n }: { n: number }): Promise<string> => {
      created += 1;
      await new Promise(setImmediate);
      return `n=${n}`;
    };
    const texts = await Promise.all([sharedText(snapshot, 'a', make), sharedText(snapshot, 'a', make)]);
    expect(texts).toEqual([0, 1].map(() => ({ text: 'n=1', tag: entityTag('n=1') })));
    expect(created).toBe(1);
    expect((await sharedText(snapshot, 'b', () => 'other')).text).toBe('other');
    const tagged = { text: 'with a cursor', tag: entityTag('without the cursor') };
    expect(await sharedText(snapshot, 'c', () => tagged)).toBe(tagged);
  });

  it('has an entity tag that does not depend on the current time', async () => {
    const at = (now: number) => ({ result: formatInstant(now), asOf: 0, position: 0, requestInstants: [now] });
    const [first, second] = [1, 2].map((now) => sharedText(at(now), 'a', (text) => `${text} and more`));
    expect((await first)!.tag).toBe((await second)!.tag);
  });
});
