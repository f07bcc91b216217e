import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { assetGroups } from '../../../projections/asset-groups/projection.js';
import { assetStatuses } from '../../../projections/asset-statuses/projection.js';
import { rebuildOutdated } from '../../../projections/engine/rebuild.js';
import { verify } from '../../../projections/engine/verify.js';
import { ArrayLog } from '../../support/array-log.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { projectToHead } from '../../support/projecting.js';
import { recordedInOrder, sent } from '../../support/upstream.js';

const AT = '2026-03-01T00:00:00Z';
const LINK = 'https://de.linkedin.com/in/Evil';
const PROJECTIONS = [assetStatuses, assetGroups];

describe('read models of an earlier version', () => {
  let database: TestDatabase;
  let log: ArrayLog;
  let said: string[];

  const run = (stop = new AbortController().signal): Promise<void> => {
    const collect = (line: string): number => said.push(line);
    return rebuildOutdated({ pool: database.pool, log }, PROJECTIONS, { say: collect, warn: collect }, stop);
  };

  const keys = async (): Promise<string[]> =>
    (await database.pool.query<{ asset: string }>('select asset from read.asset_statuses')).rows.map(
      ({ asset }) => asset,
    );

  beforeEach(async () => {
    database = await createDatabase();
    said = [];
    const asset = { type: 'LINKEDIN', content: LINK };
    log = new ArrayLog(
      recordedInOrder([
        sent('AssetStatusChanged', { changeId: '1', asset, status: 'BLOCKED', brandReviews: [], createdAt: AT }),
        sent('AssetGrouped', { organization: 'acme', groupId: 1, asset, updatedAt: AT }),
      ]),
    );
    await projectToHead(log, database.pool, PROJECTIONS);
    // As a version that read other keys left them.
    await database.pool.query(`
      update read.asset_statuses set asset_hash = md5('old'), asset = 'LINKEDIN:old', content = null;
      update read.asset_status_entries set asset_hash = md5('old'), asset = 'LINKEDIN:old', content = null;
      update read.grouped_assets set asset = md5('old');
      update read.checkpoints set version = 1`);
  });

  afterEach(() => database.drop());

  it('are rebuilt, once, with the keys of today', async () => {
    await run();
    expect(await keys()).toEqual(['LINKEDIN:in/evil']);
    expect(await verify({ pool: database.pool, log }, PROJECTIONS)).toEqual([]);
    expect(said).toHaveLength(2 * PROJECTIONS.length);
    await run();
    expect(said).toHaveLength(2 * PROJECTIONS.length);
  });

  it('stay in use if the rebuild is stopped, and are rebuilt later', async () => {
    const stop = new AbortController();
    stop.abort();
    await run(stop.signal);
    expect(await keys()).toEqual(['LINKEDIN:old']);
    await run();
    expect(await keys()).toEqual(['LINKEDIN:in/evil']);
  });
});
