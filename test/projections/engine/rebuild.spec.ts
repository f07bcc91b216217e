import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { assetGroups } from '../../../projections/asset-groups/projection.js';
import { assetStatuses } from '../../../projections/asset-statuses/projection.js';
import { rebuild, rebuildOutdated } from '../../../projections/engine/rebuild.js';
import { verify } from '../../../projections/engine/verify.js';
import { PROJECTIONS as ALL } from '../../../projections/registry.js';
import { Unavailable } from '../../../src/errors.js';
import { InMemoryEventLog } from '../../support/in-memory-event-log.js';
import { eventually } from '../../support/eventually.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { projectToHead } from '../../support/projecting.js';
import { recordedInOrder, sent } from '../../support/upstream.js';

const AT = '2026-03-01T00:00:00Z';
const LINK = 'https://de.linkedin.com/in/Evil';
const PROJECTIONS = [assetStatuses, assetGroups];

describe('Read models of an earlier version', () => {
  let database: TestDatabase;
  let log: InMemoryEventLog;
  let logged: string[];

  const run = (stop = new AbortController().signal): Promise<void> => {
    const collect = (line: string): number => logged.push(line);
    return rebuildOutdated({ pool: database.pool, log }, PROJECTIONS, { say: collect, warn: collect }, stop);
  };

  const keys = async (): Promise<string[]> =>
    (await database.pool.query<{ asset: string }>('select asset from read.asset_statuses')).rows.map(
      ({ asset }) => asset,
    );

  beforeEach(async () => {
    database = await createDatabase();
    logged = [];
    const asset = { type: 'LINKEDIN', content: LINK };
    log = new InMemoryEventLog(
      recordedInOrder([
        sent('AssetStatusChanged', { changeId: '1', asset, status: 'BLOCKED', brandReviews: [], createdAt: AT }),
        sent('AssetGrouped', { organization: 'acme', groupId: 1, asset, updatedAt: AT }),
      ]),
    );
    await projectToHead(log, database.pool, PROJECTIONS);
    // The rows are as a version with other asset keys left them.
    await database.pool.query(`
      update read.asset_statuses set asset_hash = md5('old'), asset = 'LINKEDIN:old', content = null;
      update read.asset_status_entries set asset_hash = md5('old'), asset = 'LINKEDIN:old', content = null;
      update read.grouped_assets set asset = md5('old');
      update read.checkpoints set version = 1`);
  });

  afterEach(() => database.drop());

  it('are rebuilt once with the current asset keys', async () => {
    await run();
    expect(await keys()).toEqual(['LINKEDIN:in/evil']);
    expect(await verify({ pool: database.pool, log }, PROJECTIONS)).toEqual([]);
    expect(logged).toHaveLength(2 * PROJECTIONS.length);
    await run();
    expect(logged).toHaveLength(2 * PROJECTIONS.length);
  });

  it('stay in use if the rebuild is stopped, and are rebuilt by the next start', async () => {
    const stop = new AbortController();
    stop.abort();
    await run(stop.signal);
    expect(await keys()).toEqual(['LINKEDIN:old']);
    await run();
    expect(await keys()).toEqual(['LINKEDIN:in/evil']);
  });

  it('stay in use if the rebuild is stopped while it waits for a reader of a table', async () => {
    const stop = new AbortController();
    let reads = 0;
    const reader = await database.pool.connect();
    try {
      await reader.query('begin; select from read.asset_statuses');
      const running = run(stop.signal);
      await eventually('the rebuild waits for the table', async () => {
        const waiting = `select from pg_locks where relation = 'read.asset_statuses'::regclass and not granted`;
        return (await database.pool.query(waiting)).rowCount === 1;
      });
      stop.abort();
      const readAll = log.readAll.bind(log);
      log.readAll = (...given) => ((reads += 1), readAll(...given));
      await running;
    } finally {
      await reader.query('rollback');
      reader.release();
    }
    // Each attempt would have read new events of the log.
    expect(reads).toBe(0);
    expect(await keys()).toEqual(['LINKEDIN:old']);
    await run();
    expect(await keys()).toEqual(['LINKEDIN:in/evil']);
  });
});

describe('The tables of a projection', () => {
  let database: TestDatabase;
  beforeEach(async () => void (database = await createDatabase()));
  afterEach(() => database.drop());

  /** The columns, indexes and storage parameters. */
  const shape = async (): Promise<unknown> => {
    const queries = [
      `select tablename, indexname, indexdef from pg_indexes where schemaname = 'read' order by 1, 2`,
      `select relname, reloptions from pg_class where relnamespace = 'read'::regnamespace and relkind = 'r' order by 1`,
      `select conrelid::regclass::text as "table", conname, pg_get_constraintdef(oid) as definition from pg_constraint
        where connamespace = 'read'::regnamespace order by 1, 2`,
    ];
    return Promise.all(queries.map(async (query) => (await database.pool.query<object>(query)).rows));
  };

  it('are rebuilt and verified although the log is temporarily unavailable', async () => {
    const event = sent('BrandRegistered', { organization: 'acme', brand: 'wallet', updatedAt: AT });
    const log = new InMemoryEventLog(recordedInOrder([event]));
    await projectToHead(log, database.pool);
    const readAll = log.readAll.bind(log);
    let failures = 0;
    log.readAll = (after, limit) => {
      if (++failures % 3 !== 0) return Promise.reject(new Unavailable('The log is away'));
      return readAll(after, limit);
    };
    const logged: string[] = [];
    const source = { pool: database.pool, log, onWait: (sentence: string) => void logged.push(sentence) };
    for (const projection of ALL) await rebuild(source, projection);
    expect(await verify(source, ALL)).toEqual([]);
    expect(logged.slice(0, 2)).toEqual([
      'The log is unavailable (The log is away); waiting for at most 60 s',
      'The log is available again; the work continues',
    ]);
  });

  it('have the same storage parameters and index names after a rebuild', async () => {
    const log = new InMemoryEventLog();
    const before = await shape();
    await projectToHead(log, database.pool);
    for (const projection of ALL) await rebuild({ pool: database.pool, log }, projection);
    expect(await shape()).toEqual(before);
  });
});
