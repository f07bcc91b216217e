import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { v5 } from 'uuid';
import { eventIdOf } from '../../src/event-log/event-id.js';

describe('The id of an event', () => {
  it('is the one that every pipeline can reckon: UUIDv5, namespace URL, of source, newline, id', () => {
    expect(eventIdOf('https://upstream.example', '1')).toBe(v5('https://upstream.example\n1', v5.URL));
    const text = fc.string({ unit: 'grapheme', maxLength: 300 });
    fc.assert(
      fc.property(text, text, (source, id) => {
        expect(eventIdOf(source, id)).toBe(v5(`${source}\n${id}`, v5.URL));
      }),
      { numRuns: 2_000, seed: 20261121 },
    );
  });

  it('can be asked for with any text', () => {
    expect(eventIdOf('\ud800', '\0')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
