import { expect, it } from '@jest/globals';
import type { QueryConfig, QueryResult } from 'pg';
import { binaryArray } from '../../src/postgres/binary-array.js';
import { json, nullable, type RowOf, statement, textOf } from '../../src/postgres/statement.js';

const FIND = statement(
  'find',
  { organization: 'text', ids: 'bigint[]', since: nullable('bigint') },
  { id: 'bigint', name: nullable('text'), state: textOf<'on' | 'off'>(), parts: json<readonly string[]>() },
  'select …',
);

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
    { name: 'find', text: 'select …', values: ['acme', binaryArray('bigint[]', [1, 2n]), null] },
    { name: 'find', text: 'select …', values: ['acme', binaryArray('bigint[]', [3]), 4], query_timeout: 200 },
    { text: 'select …', values: ['acme', [], 4] },
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

it('Two different statements cannot have the same name', () => {
  expect(statement('find', {}, {}, 'select …').name).toBe('find');
  expect(() => statement('find', {}, {}, 'select 2')).toThrow('Two statements are named "find"');
});
