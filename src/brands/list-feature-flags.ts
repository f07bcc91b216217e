import type { Pool } from 'pg';
import { createReadModels } from '../read-models/kysely.js';

/** Lists all feature flags that were ever set, of all organizations, from the read models. */
export const listFeatureFlags = (pool: Pool) =>
  createReadModels(pool)
    .selectFrom('feature_flags')
    .select(['organization', 'flag', 'enabled'])
    .orderBy('organization')
    .orderBy('flag')
    .execute();
