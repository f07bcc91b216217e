import { ApiProperty } from '@nestjs/swagger';
import { SCOPES, type Scope } from '../events/types/organizations.js';

export class CurrentKey {
  /** Identifies the key in the operator's lists and in the access log. The id is not secret. @example 'key_8f2c' */
  id!: string;
  /** The name that the operator gave the key, if any. @example 'dashboard' */
  name?: string;
  /** The key's scopes. */
  @ApiProperty({ enum: SCOPES, isArray: true, example: ['read', 'write'] })
  scopes!: readonly Scope[];
  /** When the key expires (ISO 8601, UTC). Absent if the key does not expire. @example '2027-01-01T00:00:00.000Z' */
  @ApiProperty({ type: String, format: 'date-time', required: false })
  expiresAt?: string;
}

export class RequestLimit {
  /** Requests per minute with this key, per process of the service. @example 6000 */
  perMinute!: number;
  /** Requests left in this minute after this request. @example 5999 */
  remaining!: number;
  /** Seconds until the minute ends. @example 42 */
  resetSeconds!: number;
}

export class DailyQuotaDto {
  /**
   * The quota per UTC day. The quota applies to what the organization's own ingest keys send. Changes to the groups,
   * members, webhooks and disputes of the organization also count.
   * @example 10000000
   */
  perDay!: number;
  /** The remaining quota of today, up to a second old. @example 9999000 */
  remaining!: number;
}

export class IngestLimits {
  /** The quota of stored events. Absent if events are not limited. */
  events?: DailyQuotaDto;
  /** The quota of bytes in request bodies with events, and in the stored events of other changes. Absent if bytes are not limited. */
  bytes?: DailyQuotaDto;
  /** When the UTC day ends and the quotas are reset (ISO 8601). @example '2026-03-02T00:00:00.000Z' */
  @ApiProperty({ type: String, format: 'date-time' })
  resetsAt!: string;
}

export class OrganizationLimits {
  /** The rate limit of the key. Absent if requests are not limited. */
  requests?: RequestLimit;
  /** The daily quotas of the organization. Absent if neither events nor bytes are limited. */
  ingest?: IngestLimits;
}

export class OrganizationResponse {
  /** The organization's slug. @example 'acme' */
  slug!: string;
  /** The key of this request. */
  key!: CurrentKey;
  /** The organization's enabled feature flags, sorted. @example ['brands-metrics'] */
  flags!: string[];
  /**
   * @example { "requests": { "perMinute": 6000, "remaining": 5999, "resetSeconds": 42 }, "ingest": { "events": { "perDay": 10000000, "remaining": 9999000 }, "bytes": { "perDay": 21474836480, "remaining": 21474000000 }, "resetsAt": "2026-03-02T00:00:00.000Z" } }
   */
  limits!: OrganizationLimits;
}

export class OwnBrandDto {
  /** The value for `brandSlug`. @example 'acme-wallet' */
  slug!: string;
  /** The display name. Absent if the brand has no display name. @example 'Acme Wallet' */
  name?: string;
  /** Whether metrics are available for the brand, which requires the flag `brands-metrics`. @example true */
  metricsAvailable!: boolean;
}

export class OwnBrandsResponse {
  /** The first 10,000 registered brands, sorted by `slug`. */
  brands!: OwnBrandDto[];
  /** Number of registered brands. @example 1 */
  total!: number;
}
