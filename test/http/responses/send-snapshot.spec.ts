import { describe, expect, it } from '@jest/globals';
import { formatInstant } from '../../../src/events/instant.js';
import { entityTag } from '../../../src/http/responses/entity-tag.js';
import { textOf } from '../../../src/http/responses/send-snapshot.js';

describe('The text of a result', () => {
  it('is made once for each media type, also by concurrent requests', async () => {
    const snapshot = { result: { n: 1 }, asOf: 0, position: 0 };
    let made = 0;
    const make = async ({ n }: { n: number }): Promise<string> => {
      made += 1;
      await new Promise(setImmediate);
      return `n=${n}`;
    };
    const texts = await Promise.all([textOf(snapshot, 'a', make), textOf(snapshot, 'a', make)]);
    expect(texts).toEqual([0, 1].map(() => ({ text: 'n=1', tag: entityTag('n=1') })));
    expect(made).toBe(1);
    expect((await textOf(snapshot, 'b', () => 'other')).text).toBe('other');
  });

  it('has an entity tag that ignores the instants of the clock', async () => {
    const at = (now: number) => ({ result: formatInstant(now), asOf: 0, position: 0, requestInstants: [now] });
    const [first, second] = [1, 2].map((now) => textOf(at(now), 'a', (text) => `${text} and more`));
    expect((await first)!.tag).toBe((await second)!.tag);
  });
});
