import { expect, it } from '@jest/globals';
import { fieldsOf, KIND_NAMES } from '../../../src/events/listed-items.js';
import { headerOf, lineOf } from '../../../src/records/export-records.js';

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
