import { describe, expect, it } from '@jest/globals';
import { entityTag, isKnown } from '../../src/http/entity-tag.js';

describe('An entity tag', () => {
  it('is weak, equal for equal contents and another for another', () => {
    expect(entityTag('a')).toMatch(/^W\/"[\w-]{22}"$/);
    expect(entityTag('a')).toBe(entityTag(Buffer.from('a')));
    expect(entityTag('a')).not.toBe(entityTag('b'));
  });

  it.each(['W/"a"', '"a"', '*', ' * ', 'W/"x", W/"a"', '"x","a"', '"x,y", W/"a"'])('"a" is known of %s', (known) =>
    expect(isKnown(known, 'W/"a"')).toBe(true),
  );

  it.each([undefined, '', 'a', 'W/a', '"b"', '"a', '"A"', '"x, "a""', '*, "b"'])('"a" is not known of %s', (known) =>
    expect(isKnown(known, 'W/"a"')).toBe(false),
  );
});
