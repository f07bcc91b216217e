import { assetGroups } from './asset-groups/projection.js';
import { assetStatuses } from './asset-statuses.js';
import { brandsAndFlags } from './brands-and-flags.js';
import { metrics } from './metrics/projection.js';
import { takedowns } from './takedowns.js';
import type { Projection } from './engine/projection.js';

export const PROJECTIONS: readonly Projection[] = [metrics, brandsAndFlags, assetStatuses, assetGroups, takedowns];
