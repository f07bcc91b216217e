import type { Pool } from 'pg';
import { createReadModels } from '../read-models/kysely.js';

/** Lists, from the read models, all feature flags that were ever set for any organization. */
export const listFeatureFlags = (pool: Pool) =>
  createReadModels(pool)
    .selectFrom('feature_flags')
    .select(['organization', 'flag', 'enabled'])
    .orderBy('organization')
    .orderBy('flag')
    .execute();
