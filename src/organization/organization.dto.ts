import { ApiProperty } from '@nestjs/swagger';
import { SCOPES, type Scope } from '../events/api-keys.js';

export class CurrentKey {
  /** Names the key in the operator's lists and in the access log; it opens nothing. @example 'key_8f2c' */
  id!: string;
  /** What the operator called the key; absent where it has no name. @example 'dashboard' */
  name?: string;
  /** What the key may do. */
  @ApiProperty({ enum: SCOPES, isArray: true, example: ['read', 'write'] })
  scopes!: readonly Scope[];
  /** When the key ends (ISO 8601, UTC); absent where it does not. @example '2027-01-01T00:00:00.000Z' */
  @ApiProperty({ type: String, format: 'date-time', required: false })
  expiresAt?: string;
}

export class RequestLimit {
  /** Requests a minute with this key, in each process of the service. @example 6000 */
  perMinute!: number;
  /** What is left of them, this request counted. @example 5999 */
  remaining!: number;
  /** Seconds until the minute ends. @example 42 */
  resetSeconds!: number;
}

export class DailyQuota {
  /** What the organization's own ingest keys may send in a UTC day. @example 10000000 */
  perDay!: number;
  /** What is left of it today, as of the last second. @example 9999000 */
  remaining!: number;
}

export class IngestLimits {
  /** Events stored; absent where there is no limit. */
  events?: DailyQuota;
  /** Bytes of bodies; absent where there is no limit. */
  bytes?: DailyQuota;
  /** When the day ends (ISO 8601, UTC). @example '2026-03-02T00:00:00.000Z' */
  @ApiProperty({ type: String, format: 'date-time' })
  resetsAt!: string;
}

export class OrganizationLimits {
  /** Absent where requests are not limited. */
  requests?: RequestLimit;
  /** Absent where neither events nor bytes are limited. */
  ingest?: IngestLimits;
}

export class OrganizationAnswer {
  /** The organization that the key names. @example 'acme' */
  slug!: string;
  /** The key of this request. */
  key!: CurrentKey;
  /** The feature flags that are on for the organization, in order. @example ['brands-metrics'] */
  flags!: string[];
  limits!: OrganizationLimits;
}

export class OwnBrandDto {
  /** What `brandSlug` takes. @example 'acme-wallet' */
  slug!: string;
  /** Absent where none was given. @example 'Acme Wallet' */
  name?: string;
  /** Whether metrics are answered for the brand: the flag `brands-metrics` is on for the organization. @example true */
  metricsAvailable!: boolean;
}

export class OwnBrandsAnswer {
  /** The registered brands in order of `slug`, the first 10,000 of them. */
  brands!: OwnBrandDto[];
  /** How many brands are registered. @example 1 */
  total!: number;
}
