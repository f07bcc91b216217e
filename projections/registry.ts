import { assetGroups } from './asset-groups.js';
import { assetStatuses } from './asset-statuses.js';
import { brandsAndFlags } from './brands-and-flags.js';
import { metrics } from './metrics/projection.js';
import { register } from './register/projection.js';
import { takedowns } from './takedowns.js';
import { webhooks } from './webhooks.js';
import type { Projection } from './engine/projection.js';

/** Projections that share transactions. Each lane has its own lease, so that lanes can run in different processes. */
export interface Lane {
  readonly name: string;
  readonly projections: readonly Projection[];
}

/**
 * The lanes in order of preference: a projector that gives up a lane to another projector keeps the lane that is first
 * in this list.
 */
export const LANES: readonly Lane[] = [
  { name: 'counts', projections: [metrics, brandsAndFlags, assetStatuses, assetGroups, takedowns, webhooks] },
  { name: 'register', projections: [register] },
];

export const PROJECTIONS: readonly Projection[] = LANES.flatMap(({ projections }) => projections);
