import type { Pool } from 'pg';
import { createReadModels } from '../read-models/kysely.js';

export interface FeatureFlag {
  readonly organization: string;
  readonly flag: string;
  readonly enabled: boolean;
}

/** All organizations' flags that were ever set, as projected so far. */
export const listFeatureFlags = (pool: Pool): Promise<FeatureFlag[]> =>
  createReadModels(pool)
    .selectFrom('feature_flags')
    .select(['organization', 'flag', 'enabled'])
    .orderBy('organization')
    .orderBy('flag')
    .execute();
