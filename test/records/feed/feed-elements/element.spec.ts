import { describe, expect, it } from '@jest/globals';
import { LISTED_KIND } from '../../../../src/events/listed-items.js';
import { elementJson, MAX_ATTRIBUTE_BYTES } from '../../../../src/records/feed/feed-elements.js';

describe('An element of the feed', () => {
  it.each(Object.entries(LISTED_KIND))(
    'of a %s takes at most the bytes that the statement counts for it',
    (_, kind) => {
      const elementId = `${'m'.repeat(8)}.${'b'.repeat(22)}`;
      for (const id of ['threat-1', '"'.repeat(100), '\\'.repeat(100), 'ü'.repeat(100), '🦊'.repeat(100)])
        for (const item of ['', '{"id":"x"}']) {
          const row = { position: 1, kind, id, eventId: '', storedAt: Number.MAX_SAFE_INTEGER / 2 ** 6, item };
          const json = elementJson(elementId, row);
          expect(JSON.parse(json)).toMatchObject({ id: elementId, subject: id });
          expect(Buffer.byteLength(json)).toBeLessThanOrEqual(
            Buffer.byteLength(item) + 2 * Buffer.byteLength(id) + MAX_ATTRIBUTE_BYTES - 1,
          );
        }
    },
  );
});
