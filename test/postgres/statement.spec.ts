import { expect, it } from '@jest/globals';
import type { QueryConfig, QueryResult } from 'pg';
import { binaryArray } from '../../src/postgres/binary-array.js';
import { json, nullable, type RowOf, statement, textOf } from '../../src/postgres/statement.js';

const FIND = statement(
  'find',
  { organization: 'text', ids: 'bigint[]', since: nullable('bigint') },
  { id: 'bigint', name: nullable('text'), state: textOf<'on' | 'off'>(), parts: json<readonly string[]>() },
  `select …, ':ids', ":since" where organization = :organization and id = any(:ids::bigint[]) and (:since) < 1`,
);
const TEXT = `select …, ':ids', ":since" where organization = $1::text and id = any($2::bigint[]::bigint[]) and ($3::bigint) < 1`;

it('A statement sends its values in the order in which its parameters are declared', async () => {
  const sent: QueryConfig[] = [];
  const connection = {
    query: (config: QueryConfig) => {
      sent.push(config);
      return Promise.resolve({ rows: [{ id: 1, name: null, state: 'on', parts: [] }] } as unknown as QueryResult);
    },
  };
  const rows = await FIND.run(connection, { since: null, ids: [1, 2n], organization: 'acme' });
  expect(rows).toEqual([{ id: 1, name: null, state: 'on', parts: [] }]);
  await FIND.run(connection, { organization: 'acme', ids: [3], since: 4 }, 200);
  await FIND.plan(connection, { organization: 'acme', ids: [], since: 4 });
  expect(sent).toEqual([
    { name: 'find', text: TEXT, values: ['acme', binaryArray('bigint[]', [1, 2n]), null] },
    { name: 'find', text: TEXT, values: ['acme', binaryArray('bigint[]', [3]), 4], query_timeout: 200 },
    { text: TEXT, values: ['acme', [], 4] },
  ]);
});

it('A statement’s values and rows are checked by the compiler', () => {
  // @ts-expect-error since is missing
  FIND.query({ organization: 'acme', ids: [1] });
  // @ts-expect-error an organization is a text
  FIND.query({ organization: 1, ids: [1], since: null });
  const row: RowOf<typeof FIND> = { id: 1, name: 'a', state: 'off', parts: ['b'] };
  // @ts-expect-error a name may be null
  const name: string = row.name;
  // @ts-expect-error there is no such state
  const isOdd: boolean = row.state === 'odd';
  expect([name, isOdd]).toEqual(['a', false]);
});

it.each([
  [':from', {}, 'Statement "wrong" does not declare its parameter :from'],
  ['$1', { from: 'bigint' }, 'Statement "wrong" does not declare its parameter $1'],
  [
    ':from',
    { from: 'bigint', to: 'bigint', limit: 'bigint' },
    'Statement "wrong" does not use its parameter :to, :limit',
  ],
] as const)('A statement that selects %s with the parameters %j is rejected', (value, parameters, message) => {
  expect(() => statement('wrong', parameters, `select ${value}`)).toThrow(message);
});

it('Two different statements cannot have the same name', () => {
  expect(statement('same', {}, 'select 1').name).toBe('same');
  expect(statement('same', {}, 'select 1').name).toBe('same');
  expect(() => statement('same', {}, 'select 2')).toThrow('Two statements are named "same"');
});
