import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { AtPosition } from '../event-log/command-queue.js';
import { RequestConcurrency } from '../read-models/request-concurrency.js';
import { DailyQuota } from '../quotas/daily-quota.js';
import type { DailyQuotaDto, IngestLimits, OrganizationResponse } from './organization.dto.js';
import { READ_FLAGS } from './statements.js';

export interface OrganizationState extends Pick<OrganizationResponse, 'flags'> {
  readonly ingest: IngestLimits | undefined;
}

/** Returns an organization's enabled flags and its remaining daily quotas, which may be a second old. */
export class GetOrganization extends Query<AtPosition<OrganizationState>> {
  constructor(readonly organization: string) {
    super();
  }
}

/** Maximum number of flags in the response; no organization has more. */
const MAX_FLAGS = 1_000;

const dtoOf = (quota: { readonly limit: number; readonly left: number } | undefined): DailyQuotaDto | undefined =>
  quota && { perDay: quota.limit, remaining: quota.left };

@QueryHandler(GetOrganization)
export class GetOrganizationHandler implements IQueryHandler<GetOrganization> {
  constructor(
    private readonly pool: Pool,
    private readonly concurrency: RequestConcurrency,
    private readonly dailyQuota: DailyQuota,
  ) {}

  /**
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the database is unavailable
   */
  execute({ organization }: GetOrganization): Promise<AtPosition<OrganizationState>> {
    return this.concurrency.run(organization, 'organization', async () => {
      const [row] = await READ_FLAGS.run(this.pool, { organization, limit: MAX_FLAGS });
      const quota = await this.dailyQuota.left(organization);
      const ingest = quota && { events: dtoOf(quota.events), bytes: dtoOf(quota.bytes), resetsAt: quota.resetsAt };
      return { result: { flags: row!.flags, ingest }, position: BigInt(row!.position) };
    });
  }
}
