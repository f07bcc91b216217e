import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { createReadModels } from '../read-models/kysely.js';

export interface FeatureFlag {
  readonly organization: string;
  readonly flag: string;
  readonly enabled: boolean;
}

/** All organizations' flags that were ever set, as projected so far. */
export class ListFeatureFlags extends Query<FeatureFlag[]> {}

@QueryHandler(ListFeatureFlags)
export class ListFeatureFlagsHandler implements IQueryHandler<ListFeatureFlags> {
  constructor(private readonly pool: Pool) {}

  execute(): Promise<FeatureFlag[]> {
    return createReadModels(this.pool)
      .selectFrom('feature_flags')
      .select(['organization', 'flag', 'enabled'])
      .orderBy('organization')
      .orderBy('flag')
      .execute();
  }
}
