import type { Pool } from 'pg';
import { createReadModels } from '../read-models/kysely.js';

/** All organizations' flags that were ever set, as projected so far. */
export const listFeatureFlags = (pool: Pool) =>
  createReadModels(pool)
    .selectFrom('feature_flags')
    .select(['organization', 'flag', 'enabled'])
    .orderBy('organization')
    .orderBy('flag')
    .execute();
