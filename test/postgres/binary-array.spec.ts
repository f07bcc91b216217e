import { describe, expect, it } from '@jest/globals';
import { binaryArray } from '../../src/postgres/binary-array.js';
import { sharedDatabase } from '../support/open-for-tests.js';

const database = sharedDatabase({ migrated: false });

/** What PostgreSQL received, as text. */
const received = async (type: string, value: unknown): Promise<(string | null)[]> =>
  (
    await database.pool.query<{ value: string | null }>(
      `select value::text from unnest($1::${type}) with ordinality i (value, n) order by n`,
      [value],
    )
  ).rows.map((row) => row.value);

/** Per type, values that must be sent in binary format. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  'text[]': [
    '',
    'a',
    null,
    'NULL',
    '{}',
    'a,b',
    '"quoted" \\ \'single\'',
    ' \n\t',
    'ü – 漢字 😀',
    '\ud800',
    undefined,
    'x'.repeat(70_000),
  ],
  'json[]': ['{"a": "\\"b\\""}', null, '[1,2]', '"\\\\"'],
  'uuid[]': ['6f2c6f5e-63a3-5a3b-9f4e-0123456789ab', null, '6F2C6F5E63A35A3B9F4E0123456789AB'],
  'smallint[]': [0, -1, 32_767, -32_767, null, 7n],
  'integer[]': [0, -1, 2_147_483_647, -2_147_483_647, null, 7n],
  'bigint[]': [0, -1, 1, 2 ** 31, -(2 ** 31), 2 ** 32 - 1, 2 ** 32, -(2 ** 32) - 1, Number.MAX_SAFE_INTEGER, null]
    .concat([-Number.MAX_SAFE_INTEGER, -62_135_596_800_000])
    .flatMap((value) => (value === null ? [value] : [value, BigInt(value)])),
};

describe('An array in binary format', () => {
  it.each(Object.entries(VALUES))('of %s has the values that the text of the array has', async (type, values) => {
    const binary = binaryArray(type, values);
    expect(binary).toBeInstanceOf(Buffer);
    expect(await received(type, binary)).toEqual(await received(type, values));
    expect(await received(type, binary)).toHaveLength(values.length);
  });

  /** Values that the binary format cannot represent, and what PostgreSQL answers to their text. */
  it.each([
    ['smallint[]', [1, 32_768], '22003'],
    ['integer[]', [2 ** 31], '22003'],
    ['integer[]', [1.5], '22P02'],
    ['bigint[]', [Number.NaN], '22P02'],
    ['bigint[]', [2n ** 63n], '22003'],
    ['bigint[]', [''], '22P02'],
    ['uuid[]', ['6f2c6f5e'], '22P02'],
    ['uuid[]', ['zf2c6f5e-63a3-5a3b-9f4e-0123456789ab'], '22P02'],
  ])('is not made of %s for %p, so that PostgreSQL says what is wrong', async (type, values, code) => {
    expect(binaryArray(type, values)).toBe(values);
    await expect(received(type, binaryArray(type, values))).rejects.toMatchObject({ code });
  });

  it('with a zero character is refused with the code that the text has', async () => {
    for (const value of [binaryArray('text[]', ['a\0']), ['a\0']])
      await expect(received('text[]', value)).rejects.toMatchObject({ code: '22021' });
  });

  it('is sent as text if it is exact only as text', async () => {
    const values = [2n ** 62n, 5];
    expect(binaryArray('bigint[]', values)).toBe(values);
    expect(await received('bigint[]', values)).toEqual([String(2n ** 62n), '5']);
  });
});
