import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { json, statement } from '../postgres/statement.js';
import { positionOf, rowsAtPosition } from '../read-models/checkpoints.js';
import type { AtPosition } from '../event-log/command-queue.js';
import { RequestConcurrency } from '../read-models/request-concurrency.js';
import { DailyQuota } from '../quotas/daily-quota.js';
import type { DailyQuotaDto, IngestLimits, OrganizationResponse, OwnBrandsResponse } from './organization.dto.js';

interface OwnBrand {
  readonly brand: string;
  readonly name: string | null;
  /** The number of all brands of the organization. */
  readonly total: number;
  readonly available: boolean;
}

/** The flags that are enabled for an organization. */
export const READ_FLAGS = statement(
  'organization-flags',
  { organization: 'text', limit: 'bigint' },
  { position: 'bigint', flags: 'text[]' },
  `
    select ${positionOf('brands-and-flags')} as position,
      array(
        select flag from read.feature_flags where organization = :organization and enabled order by flag limit :limit
      ) as flags`,
);

/** The registered brands of an organization, whether metrics are available for them, and the total number of brands. */
export const READ_BRANDS = statement(
  'organization-brands',
  { organization: 'text', limit: 'bigint' },
  { position: 'bigint', rows: json<readonly OwnBrand[]>() },
  rowsAtPosition(
    `
    select brand, name, count(*) over () as total,
      exists (select from read.feature_flags
              where organization = :organization and flag = 'brands-metrics' and enabled) as available
    from read.brands
    where organization = :organization and registered
    order by brand
    limit :limit`,
    'brands-and-flags',
  ),
);

interface OrganizationState extends Pick<OrganizationResponse, 'flags'> {
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

/** Lists the registered brands of an organization from the read models. */
export class ListOwnBrands extends Query<AtPosition<OwnBrandsResponse>> {
  constructor(readonly organization: string) {
    super();
  }
}

const MAX_BRANDS = 10_000;

@QueryHandler(ListOwnBrands)
export class ListOwnBrandsHandler implements IQueryHandler<ListOwnBrands> {
  constructor(
    private readonly pool: Pool,
    private readonly concurrency: RequestConcurrency,
  ) {}

  /**
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the database is unavailable
   */
  execute({ organization }: ListOwnBrands): Promise<AtPosition<OwnBrandsResponse>> {
    return this.concurrency.run(organization, 'brands', async () => {
      const [read] = await READ_BRANDS.run(this.pool, { organization, limit: MAX_BRANDS });
      const { rows, position } = read!;
      const brands = rows.map(({ brand, name, available }) => ({
        slug: brand,
        ...(name !== null && { name }),
        metricsAvailable: available,
      }));
      return { result: { brands, total: rows[0]?.total ?? 0 }, position: BigInt(position) };
    });
  }
}
