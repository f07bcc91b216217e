import type { PoolClient } from 'pg';
import { KEY_VERSION } from '../../src/assets/keys.js';
import { IDEMPOTENCY_TTL_MS } from '../../src/events/idempotent-request.js';
import { forEachYielding } from '../../src/flow/cooperative-yield.js';
import { type GroupEvent, NewestGroups, TYPES } from './fold.js';
import type { Projection } from '../engine/projection.js';
import {
  DELETE_EXPIRED_RESPONSES,
  REDACT_ASSETS,
  STORE_RESPONSES,
  STORE_ASSETS,
  STORE_GROUPS,
  STORE_STREAMS,
} from './statements.js';

/**
 * The groups of each organization, the number of assets in each group, and the responses to requests with an
 * `Idempotency-Key`. When a group is deleted, its assets and its count stay in the tables. The assets of a deleted
 * group are never shown, because no later group gets the same id.
 */
export const assetGroups: Projection<GroupEvent> = {
  name: 'asset-groups',
  versions: [KEY_VERSION],
  tables: ['asset_group_streams', 'asset_groups', 'asset_group_requests', 'grouped_assets', 'asset_group_counts'],
  types: TYPES,
  prepare: async (events) => {
    const newest = new NewestGroups();
    await forEachYielding(events, (event) => newest.add(event));
    return ({ connection }) => write(newest, connection);
  },
};

const write = async (
  { streams, groups, responses, assets, redacted }: NewestGroups,
  connection: PoolClient,
): Promise<void> => {
  // This writes the row of every organization in the batch, even if the batch only has events about its assets.
  await STORE_STREAMS.runEach(connection, [...streams.values()]);
  await STORE_GROUPS.runEach(connection, [...groups.values()]);
  await STORE_RESPONSES.runEach(connection, [...responses.values()]);
  // Responses expire by the time of events instead of the clock, so that a rebuild deletes the same responses.
  if (groups.size + responses.size > 0)
    await DELETE_EXPIRED_RESPONSES.run(connection, { organizations: [...streams.keys()], keptMs: IDEMPOTENCY_TTL_MS });
  await REDACT_ASSETS.runEach(connection, [...redacted.values()]);
  // Assets are counted even if their group does not exist yet.
  await STORE_ASSETS.runEach(connection, [...assets.values()]);
};
