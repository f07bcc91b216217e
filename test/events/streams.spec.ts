import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { v5 } from 'uuid';
import { eventIdOf, issueOfId, legacyEventIdOf } from '../../src/events/streams.js';

const UUID_V5 = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('The event id', () => {
  it('is the UUIDv5 (namespace URL) of source, id, type and stream', () => {
    expect(eventIdOf('https://upstream.example', '1', 'ThreatDeleted', 'threat-acme:t-1')).toBe(
      v5('https://upstream.example\n1\nThreatDeleted\nthreat-acme:t-1', v5.URL),
    );
    const text = fc.string({ unit: 'grapheme', maxLength: 300 });
    fc.assert(
      fc.property(text, text, text, text, (source, id, type, stream) => {
        expect(eventIdOf(source, id, type, stream)).toBe(v5(`${source}\n${id}\n${type}\n${stream}`, v5.URL));
      }),
      { numRuns: 500, seed: 20261121 },
    );
  });

  it('is the UUIDv5 of source and id in logs of version 2.0', () => {
    expect(legacyEventIdOf('https://upstream.example', '1')).toBe(v5('https://upstream.example\n1', v5.URL));
  });

  it('can be computed from any text', () => {
    expect(eventIdOf('\ud800', '\0', '', '')).toMatch(UUID_V5);
  });

  it.each([
    ['1,024 characters', 'x'.repeat(1_024)],
    ['1,024 characters outside the basic plane', '\u{1f600}'.repeat(1_024)],
    ['a no-break space', '\u00a0'],
  ])('can be computed from sources and ids with %s', (_, text) => {
    expect(issueOfId(text)).toBeUndefined();
  });

  it.each([
    ['nothing', '', 'must be 1 to 1024 characters'],
    ['1,025 characters', 'x'.repeat(1_025), 'must be 1 to 1024 characters'],
    ['8 million characters', '\u{1f600}'.repeat(4_000_000), 'must be 1 to 1024 characters'],
    ...[0, 9, 10, 13, 0x1f, 0x7f, 0x80, 0x85, 0x9f].map((code) => [
      `U+${code.toString(16).padStart(4, '0')}`,
      `a${String.fromCharCode(code)}b`,
      'must not contain control characters',
    ]),
    ['a lone surrogate', 'a\ud800b', 'must not contain lone surrogates'],
  ])('is not computed from invalid sources and ids with %s', (_, text, issue) => {
    expect(issueOfId(text!)).toBe(issue);
  });
});
