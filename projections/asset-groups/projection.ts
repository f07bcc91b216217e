import type { PoolClient } from 'pg';
import { KEY_VERSION } from '../../src/assets/asset-key.js';
import { IDEMPOTENCY_TTL_MS } from '../../src/events/types/asset-groups.js';
import { type GroupEvent, NewestGroups, TYPES } from './fold.js';
import type { Projection } from '../engine/projection.js';
import { FORGET_ANSWERS, STORE_ANSWERS, STORE_ASSETS, STORE_GROUPS, STORE_STREAMS } from './statements.js';

/**
 * Each organization's groups, their asset counts, and the answers to requests with an `Idempotency-Key`. A deleted
 * group keeps its assets and count, which are never shown: ids are not reused, so no event can bring them back.
 */
export const assetGroups: Projection<GroupEvent> = {
  name: 'asset-groups',
  version: KEY_VERSION,
  tables: ['asset_group_streams', 'asset_groups', 'asset_group_requests', 'grouped_assets', 'asset_group_counts'],
  types: TYPES,
  prepare: async (events) => {
    const newest = new NewestGroups();
    for (const event of events) newest.add(event);
    return ({ connection }) => write(newest, connection);
  },
};

const write = async ({ streams, groups, answers, assets }: NewestGroups, connection: PoolClient): Promise<void> => {
  // Every organization of the batch, so that any change of its rows also changes its row here.
  await STORE_STREAMS.runEach(connection, [...streams.values()]);
  await STORE_GROUPS.runEach(connection, [...groups.values()]);
  await STORE_ANSWERS.runEach(connection, [...answers.values()]);
  // By event time, not by the clock, so that a rebuild expires the same answers.
  if (groups.size + answers.size > 0)
    await FORGET_ANSWERS.run(connection, { organizations: [...streams.keys()], keptMs: IDEMPOTENCY_TTL_MS });
  // A group that does not exist yet is counted too.
  await STORE_ASSETS.runEach(connection, [...assets.values()]);
};
