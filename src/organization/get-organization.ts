import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { sql } from 'kysely';
import { Pool } from 'pg';
import { Config } from '../runtime/config.js';
import { dayOf } from '../events/instant.js';
import { DatabaseClock } from '../postgres/clock.js';
import { compiled } from '../read-models/compiled-statement.js';
import { RequestTurns } from '../read-models/request-turns.js';
import { readQuotaLeft } from '../quotas/usage.js';
import type { DailyQuotaDto, IngestLimits, OrganizationAnswer } from './organization.dto.js';

export interface OrganizationState extends Pick<OrganizationAnswer, 'flags'> {
  readonly ingest: IngestLimits | undefined;
}

/** An organization's flags and what is left of its daily quotas, as of the last second. */
export class GetOrganization extends Query<OrganizationState> {
  constructor(readonly organization: string) {
    super();
  }
}

/** More than any organization has enabled. */
const MAX_FLAGS = 1_000;

const findFlags = compiled('organization-flags', (db, { organization }: { organization: string }) =>
  db
    .selectFrom('feature_flags')
    .select('flag')
    .where('organization', '=', organization)
    .where('enabled', 'is', true)
    .orderBy('flag')
    .limit(sql.lit(MAX_FLAGS)),
);

const dtoOf = (quota: { readonly limit: number; readonly left: number } | undefined): DailyQuotaDto | undefined =>
  quota && { perDay: quota.limit, remaining: quota.left };

@QueryHandler(GetOrganization)
export class GetOrganizationHandler implements IQueryHandler<GetOrganization> {
  constructor(
    private readonly pool: Pool,
    private readonly config: Config,
    private readonly turns: RequestTurns,
    private readonly clock: DatabaseClock,
  ) {}

  /**
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the database is unavailable
   */
  execute({ organization }: GetOrganization): Promise<OrganizationState> {
    return this.turns.runInTurn(organization, 'organization', async () => {
      const rows = await findFlags(this.pool, { organization });
      const quota = await readQuotaLeft(this.pool, this.config, organization, dayOf(this.clock.now()));
      return {
        flags: rows.map(({ flag }) => flag),
        ingest: quota && { events: dtoOf(quota.events), bytes: dtoOf(quota.bytes), resetsAt: quota.resetsAt },
      };
    });
  }
}
