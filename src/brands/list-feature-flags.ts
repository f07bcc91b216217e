import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';

export interface FeatureFlag {
  readonly organization: string;
  readonly flag: string;
  readonly enabled: boolean;
}

/** The flags of every organization that were ever switched, as far as they are projected. */
export class ListFeatureFlags extends Query<FeatureFlag[]> {}

const STATEMENT = {
  name: 'feature-flags-list',
  text: 'select organization, flag, enabled from read.feature_flags order by organization, flag',
};

@QueryHandler(ListFeatureFlags)
export class ListFeatureFlagsHandler implements IQueryHandler<ListFeatureFlags> {
  constructor(private readonly pool: Pool) {}

  async execute(): Promise<FeatureFlag[]> {
    return (await this.pool.query<FeatureFlag>(STATEMENT)).rows;
  }
}
