import { assetGroups } from './asset-groups.js';
import { assetStatuses } from './asset-statuses.js';
import { brandsAndFlags } from './brands-and-flags.js';
import { metrics } from './metrics/projection.js';
import { register } from './register/projection.js';
import { takedowns } from './takedowns.js';
import { webhooks } from './webhooks.js';
import type { Projection } from './engine/projection.js';

/** The name of the projector's lease. Version 2.2 has a lease of this name, so the two versions do not work at once. */
export const LANE = 'counts';

/** All projections. They share transactions. */
export const PROJECTIONS: readonly Projection[] = [
  register,
  metrics,
  brandsAndFlags,
  assetStatuses,
  assetGroups,
  takedowns,
  webhooks,
];
