import { describe, expect, it } from '@jest/globals';
import { entityTag, matchesEntityTag } from '../../../../src/http/responses/send-snapshot.js';

describe('An entity tag', () => {
  it('is weak, equal for equal content and different for different content', () => {
    expect(entityTag('a')).toMatch(/^W\/"[\w-]{22}"$/);
    expect(entityTag('a')).toBe(entityTag(Buffer.from('a')));
    expect(entityTag('a')).not.toBe(entityTag('b'));
  });

  it.each(['W/"a"', '"a"', '*', ' * ', 'W/"x", W/"a"', '"x","a"', '"x,y", W/"a"'])('"a" matches %s', (known) =>
    expect(matchesEntityTag(known, 'W/"a"')).toBe(true),
  );

  it.each([undefined, '', 'a', 'W/a', '"b"', '"a', '"A"', '"x, "a""', '*, "b"'])('"a" does not match %s', (known) =>
    expect(matchesEntityTag(known, 'W/"a"')).toBe(false),
  );
});
