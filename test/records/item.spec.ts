import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatInstant } from '../../src/events/instant.js';
import { fieldsOf, KIND_NAMES, LISTED_KIND } from '../../src/events/listed-items.js';
import { ITEM_PARTS, itemBytes, itemOf } from '../../src/records/item.js';
import { newDatabase } from '../support/open-for-tests.js';

const database = newDatabase();

const AT = 1_790_000_000_000;
const [createdAt, updatedAt] = [formatInstant(AT), formatInstant(AT + 5)];

/** The parts of the item of a record, and the most bytes that the item may have, as the database computes them. */
const partsOf = async (
  columns: Readonly<Record<string, unknown>>,
): Promise<{ parts: string | null; bytes: number }> => {
  const row = { id: 'r', created_at: AT, version: 2 * (AT + 5), ...columns };
  const { rows } = await database.pool.query<{ parts: string | null; bytes: number }>(
    `select parts, ${itemBytes('parts')} as bytes
     from (select *, ${ITEM_PARTS} as parts from json_populate_record(null::read.register, $1)) r`,
    [JSON.stringify(row)],
  );
  return rows[0]!;
};

it.each(KIND_NAMES.filter((kind) => kind !== 'dispute'))(
  'The item of a %s has the declared fields in their order',
  async (kind) => {
    const asset = kind === 'report' ? {} : { status: 'BLOCKED', type: 'URL', content: 'a' };
    const expiry = kind === 'verdict' ? { expires_at: AT + 9 } : {};
    const { parts } = await partsOf({ ...asset, ...expiry, brands: kind === 'threat' ? null : ['shoes'] });
    expect(Object.keys(JSON.parse(itemOf(LISTED_KIND[kind], 'r', parts!)) as object)).toEqual(
      Object.keys(fieldsOf(kind)),
    );
  },
);

it('A takedown without a brand has no `brand`, a report without brands an empty list, and a deleted record no item', async () => {
  const takedown = await partsOf({ status: 'TODO', type: 'URL', content: 'a', brands: [] });
  expect(JSON.parse(itemOf(LISTED_KIND.takedown, 'r', takedown.parts!))).not.toHaveProperty('brand');
  const report = await partsOf({ brands: [] });
  expect(itemOf(LISTED_KIND.report, 'r', report.parts!)).toBe(
    `{"id":"r","brands":[],"createdAt":"${createdAt}","updatedAt":"${updatedAt}"}`,
  );
  expect((await partsOf({ created_at: null })).parts).toBeNull();
});

it('An item of any content and id is the JSON that JavaScript writes, in one line and within its maximum size', async () => {
  const text = fc.string({ unit: 'binary' }).filter((value) => !/[\0\ud800-\udfff]/u.test(value));
  // An id has no control characters.
  const ids = text.filter((value) => !/\p{Cc}/u.test(value));
  await fc.assert(
    fc.asyncProperty(text, ids, async (content, id) => {
      const { parts, bytes } = await partsOf({ id, status: 'COMPLETED', type: 'URL', content, brands: ['a-b'] });
      const item = itemOf(LISTED_KIND.takedown, id, parts!);
      const fields = { id, asset: { type: 'URL', content }, status: 'COMPLETED', brand: 'a-b', createdAt, updatedAt };
      expect(item).toBe(JSON.stringify(fields));
      expect(parts).not.toContain('\n');
      expect(Buffer.byteLength(item)).toBeLessThanOrEqual(bytes);
    }),
  );
});
