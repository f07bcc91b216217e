import { expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { Pool } from 'pg';
import { compiled } from '../../src/read-models/compiled-statement.js';

const brands = compiled('brands', (db, { organization, limit }: { organization: string; limit: number }) =>
  db
    .selectFrom('brands')
    .select('brand')
    .where('organization', '=', organization)
    .where('brand', '<>', 'none')
    .where('name', '<>', organization)
    .where('registered', '=', sql.lit(true))
    .limit(limit),
);

const sent: unknown[] = [];
const pool = {
  query: (config: unknown) => {
    sent.push(config);
    return Promise.resolve({ rows: [{ brand: 'shoes' }] });
  },
} as unknown as Pool;

it('A compiled statement is sent under its name, each value where it was asked for', async () => {
  expect(await brands(pool, { limit: 3, organization: 'acme' })).toEqual([{ brand: 'shoes' }]);
  await brands(pool, { limit: 1, organization: 'other' }, 200);
  const text =
    'select "brand" from "read"."brands" where "organization" = $1 and "brand" <> $2 and "name" <> $3 ' +
    'and "registered" = true limit $4';
  expect(sent).toEqual([
    { name: 'brands', text, values: ['acme', 'none', 'acme', 3] },
    { name: 'brands', text, values: ['other', 'none', 'other', 1], query_timeout: 200 },
  ]);
});

it('A compiled statement cannot compute with a value, which it does not have yet', () => {
  expect(() =>
    compiled('brands-after', (db, { limit }: { limit: number }) =>
      db
        .selectFrom('brands')
        .select('brand')
        .limit(limit + 1),
    ),
  ).toThrow(TypeError);
});

it('A compiled statement is checked by the compiler', () => {
  // @ts-expect-error there is no such column
  compiled('brands-colour', (db) => db.selectFrom('brands').select('colour'));
  // @ts-expect-error an organization is a string
  compiled('brands-of', (db, { of }: { of: number }) => db.selectFrom('brands').where('organization', '=', of));
  expect(sent).toHaveLength(2);
});
