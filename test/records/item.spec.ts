import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EARLIEST, LATEST } from '../../src/events/instant.js';
import { LISTED_KIND, type ListedKind } from '../../src/read-models/listed-kind.js';
import { itemJson, itemOf } from '../../src/records/item.js';

it('An item as JSON is the JSON of the item, whatever its texts and however many brands', () => {
  const text = fc.string({ unit: 'binary' });
  const instant = fc.integer({ min: EARLIEST, max: LATEST });
  const row = fc.record({
    id: text,
    position: fc.nat(),
    createdAt: instant,
    updatedAt: fc.option(instant),
    status: text,
    type: text,
    content: text,
    brands: fc.array(text, { maxLength: 3 }),
  });
  const kind = fc.constantFrom(...(Object.keys(LISTED_KIND) as ListedKind[]));
  fc.assert(
    fc.property(kind, row, (ofKind, of) => {
      expect(itemJson(ofKind, of)).toBe(JSON.stringify(itemOf(ofKind, of)));
    }),
  );
});
