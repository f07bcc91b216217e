import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { itemJson } from '../../../projections/records/row.js';
import { fieldsOf, KIND_NAMES } from '../../../src/events/listed-items.js';
import { headerOf, lineOf } from '../../../src/records/export-records.js';

it('The JSON of an item has no line break, because the feed separates items by line breaks', () => {
  const text = fc.string({ unit: 'binary' });
  fc.assert(
    fc.property(text, text, text, (content, type, status) => {
      const item = { id: 'a', asset: { type, content }, status, createdAt: '', updatedAt: '' };
      const json = itemJson<'threat'>(item);
      expect([json.includes('\n'), JSON.parse(json)]).toEqual([false, item]);
    }),
  );
});

it.each(KIND_NAMES)('A row of the CSV export of %ss has a cell for each declared field', (kind) => {
  const item = Object.fromEntries(
    Object.entries(fieldsOf(kind)).map(([name, { properties }]) => [
      name,
      properties ? Object.fromEntries(Object.keys(properties).map((inner) => [inner, `${name}.${inner}`])) : name,
    ]),
  );
  const cells = Object.values(item).flatMap((value) => (typeof value === 'string' ? [value] : Object.values(value)));
  expect(lineOf(kind, item)).toBe(`${cells.join(',')}\r\n`);
  expect(headerOf(kind).trim().split(',')).toHaveLength(cells.length);
});
