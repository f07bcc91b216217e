import type { Pool } from 'pg';
import { createReadModels } from '../read-models/kysely.js';

export interface FeatureFlag {
  readonly organization: string;
  readonly flag: string;
  readonly enabled: boolean;
}

/** Every flag that was ever switched, of every organization, as projected. */
export const listFeatureFlags = (pool: Pool): Promise<FeatureFlag[]> =>
  createReadModels(pool)
    .selectFrom('feature_flags')
    .select(['organization', 'flag', 'enabled'])
    .orderBy('organization')
    .orderBy('flag')
    .execute();
