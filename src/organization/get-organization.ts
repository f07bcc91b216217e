import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { sql } from 'kysely';
import { Pool } from 'pg';
import { Config } from '../runtime/config.js';
import { dayOf, formatInstant, MS_PER_DAY } from '../events/instant.js';
import { compiled } from '../read-models/compiled-statement.js';
import { RequestTurns } from '../read-models/request-turns.js';
import { readIngestUsage } from '../quotas/usage.js';
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

const quota = (perDay: number, used: number): DailyQuotaDto | undefined =>
  perDay === 0 ? undefined : { perDay, remaining: Math.max(0, perDay - used) };

@QueryHandler(GetOrganization)
export class GetOrganizationHandler implements IQueryHandler<GetOrganization> {
  constructor(
    private readonly pool: Pool,
    private readonly config: Config,
    private readonly turns: RequestTurns,
  ) {}

  /**
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the database is unavailable
   */
  execute({ organization }: GetOrganization): Promise<OrganizationState> {
    return this.turns.runInTurn(organization, 'organization', () => this.read(organization));
  }

  private async read(organization: string): Promise<OrganizationState> {
    const rows = await findFlags(this.pool, { organization });
    return { flags: rows.map(({ flag }) => flag), ingest: await this.ingest(organization) };
  }

  private async ingest(organization: string): Promise<IngestLimits | undefined> {
    const { ingestEventsPerDay, ingestBytesPerDay } = this.config;
    if (ingestEventsPerDay === 0 && ingestBytesPerDay === 0) return undefined;
    const today = dayOf(Date.now());
    const [used = { events: 0, bytes: 0 }] = await readIngestUsage(this.pool, today, organization);
    return {
      events: quota(ingestEventsPerDay, used.events),
      bytes: quota(ingestBytesPerDay, used.bytes),
      resetsAt: formatInstant((today + 1) * MS_PER_DAY),
    };
  }
}
