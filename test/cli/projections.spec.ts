import { expect, it } from '@jest/globals';
import { percentOf } from '../../src/cli/projections.js';
import { createPostgresLog } from '../../src/event-log/postgres/log.js';
import { operatorCall } from '../support/operator-call.js';
import { createDatabase } from '../support/postgres.js';
import { projectToHead } from '../support/projecting.js';
import { sent, stored } from '../support/upstream.js';

const AT = '2026-03-01T00:00:00Z';
/** More rows than `verify` prints for one table and one side. */
const GROUPED_ASSETS = 101;

it('projections verify counts the differences of each table before it lists them', async () => {
  const database = await createDatabase();
  const log = await createPostgresLog(database.pool);
  const verify = (...words: string[]) =>
    operatorCall({ DATABASE_URL: database.url }, 'projections', 'verify', ...words);
  try {
    const grouped = Array.from({ length: GROUPED_ASSETS }, (_, index) =>
      sent('AssetGrouped', {
        organization: 'acme',
        groupId: 1,
        asset: { type: 'URL', content: `host-${index}.example` },
        updatedAt: AT,
      }),
    );
    const brand = sent('BrandRegistered', { organization: 'acme', brand: 'wallet', updatedAt: AT });
    await log.appendAll([...grouped, brand].map(stored));
    await projectToHead(log, database.pool);
    expect(await verify()).toMatchObject({ code: 0, out: '0 differences\n' });

    await database.pool.query(`delete from read.grouped_assets; update read.brands set name = 'Another'`);
    const { code, out } = await verify();
    expect(code).toBe(1);
    const lines = out.trimEnd().split('\n');
    expect(lines.slice(0, 3)).toEqual([
      'brands: only in the read model: 1 row',
      'brands: only in the rebuild: 1 row',
      'grouped_assets: only in the rebuild: 100 or more rows',
    ]);
    expect(lines.slice(3, 5)).toEqual([
      expect.stringMatching(/^brands: only in the read model: \{.*"name":"Another"/),
      expect.stringMatching(/^brands: only in the rebuild: \{/),
    ]);
    const missing = lines.slice(5, 105);
    expect(missing.filter((line) => !line.startsWith('grouped_assets: only in the rebuild: {'))).toEqual([]);
    expect(lines.slice(105)).toEqual(['102 differences or more']);
  } finally {
    await database.drop();
  }
});

it('projections verify exits with another code than for differences if it could not compare the tables', async () => {
  const database = await createDatabase();
  const other = await database.pool.connect();
  try {
    await projectToHead(await createPostgresLog(database.pool), database.pool);
    await other.query(`select pg_advisory_lock(hashtext('read_check_asset-groups'))`);
    const { code, err } = await operatorCall({ DATABASE_URL: database.url }, 'projections', 'verify', 'asset-groups');
    expect(err).toContain('A verification of "asset-groups" is already running');
    expect(code).toBe(3);
  } finally {
    other.release(true);
    await database.drop();
  }
});

it.each([
  [-1n, 1_000n, 0n],
  [0n, 1_000n, 0n],
  [335n, 1_000n, 33n],
  [999n, 1_000n, 99n],
  [1_000n, 1_000n, 100n],
  [1_030n, 1_000n, 100n],
  [-1n, -1n, 100n],
  [5n, 0n, 100n],
])('the progress at position %d of a log that ended at %d is %d %%', (position, head, percent) => {
  expect(percentOf(position, head)).toBe(percent);
});
