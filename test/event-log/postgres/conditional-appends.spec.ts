import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { createPostgresLog } from '../../../src/event-log/postgres/log.js';
import { APPEND, type AppendedEntry } from '../../../src/event-log/postgres/writer.js';
import { createPool } from '../../../src/postgres/pool.js';
import { createDatabase, type TestDatabase, NO_LIMITS } from '../../support/postgres.js';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createDatabase();
  await (await createPostgresLog(createPool(database.url, () => {}, NO_LIMITS))).close();
  pool = createPool(database.url, () => {}, { statement_timeout: 0, query_timeout: 0 });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** Appends to these streams in one statement. `defaultExpected` applies to requests without `expected`. */
const append = (
  requests: readonly { readonly stream: string; readonly ids: readonly string[]; readonly expected?: bigint }[],
  defaultExpected: bigint | undefined = -1n,
) => {
  const entries = requests.flatMap(({ stream, ids, expected = defaultExpected }, request) =>
    ids.map((id) => ({ request, stream, id, expected })),
  );
  return APPEND.run(
    pool,
    {
      requests: entries.map(({ request }) => request),
      streams: entries.map(({ stream }) => stream),
      expected: entries.map(({ expected }) => expected),
      ids: entries.map(({ id }) => id),
      types: entries.map(() => 'AssetGroupCreated'),
      data: entries.map(() => '{}'),
      metadata: entries.map(() => '{}'),
    },
    60_000,
  );
};
const outcomesOf = (rows: readonly AppendedEntry[]): string[] => rows.map(({ outcome }) => outcome);

it('The append statement decides each request separately, whatever the position and length of the request', async () => {
  const ids = Array.from({ length: 8 }, () => randomUUID());
  const requests = [
    { stream: 'a', ids: ids.slice(0, 1) },
    { stream: 'b', ids: ids.slice(1, 4) },
    { stream: 'c', ids: [ids[4]!, ids[4]!] },
    { stream: 'd', ids: ids.slice(5) },
  ];
  const first = ['appended', ...Array.from({ length: 3 }, () => 'appended'), 'appended', 'duplicate'];
  expect(outcomesOf(await append(requests))).toEqual([...first, 'appended', 'appended', 'appended']);
  expect(outcomesOf(await append(requests))).toEqual(Array.from({ length: 9 }, () => 'duplicate'));
  // One request has an additional unknown id: that whole request is rejected, and no other request is.
  const more = requests.map((one, n) => (n === 1 ? { ...one, ids: [...one.ids, randomUUID()] } : one));
  const refused = Array.from({ length: 4 }, () => 'conflict');
  expect(outcomesOf(await append(more))).toEqual([
    'duplicate',
    ...refused,
    ...Array.from({ length: 5 }, () => 'duplicate'),
  ]);
});

it('The append statement takes into account what its earlier requests appended to the stream', async () => {
  const ids = Array.from({ length: 5 }, () => randomUUID());
  const to = (at: number, expected: bigint) => ({ stream: 'one', ids: [ids[at]!], expected });
  const rows = await append([to(0, -1n), to(1, -1n), to(0, -1n), to(2, 0n), to(3, 0n), to(4, 1n)]);
  expect(rows.map(({ outcome, revision, stream_revision }) => [outcome, revision, stream_revision])).toEqual([
    ['appended', 0, -1],
    ['conflict', null, 0],
    ['duplicate', 0, -1],
    ['appended', 1, 0],
    ['conflict', null, 1],
    ['appended', 2, 1],
  ]);
});

it('The append statement takes little more time for 4,000 conditional requests than for 4,000 unconditional ones', async () => {
  const shortest = { conditional: Number.POSITIVE_INFINITY, other: Number.POSITIVE_INFINITY };
  for (let n = 0; n < 3; n += 1)
    for (const kind of ['other', 'conditional'] as const) {
      const requests = Array.from({ length: 4_000 }, () => ({ stream: `groups-${randomUUID()}`, ids: [randomUUID()] }));
      const began = performance.now();
      await append(requests, kind === 'conditional' ? -1n : undefined);
      shortest[kind] = Math.min(shortest[kind], performance.now() - began);
    }
  // In an earlier version, each request searched the ids of all requests.
  expect(shortest.conditional).toBeLessThan(3 * shortest.other);
});
