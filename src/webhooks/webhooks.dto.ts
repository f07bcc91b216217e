import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { KIND_NAMES, type ListedKind } from '../events/kinds.js';
import { DISABLED_REASONS, type DisabledReason, MAX_BATCH } from '../events/types/webhooks.js';

const STATES = ['ACTIVE', 'FAILING', 'DISABLED'] as const;

export class WebhookFailureDto {
  /** @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ format: 'date-time' })
  at!: string;
  /**
   * Of the answer; absent if none came.
   * @example 503
   */
  @ApiPropertyOptional({ type: 'integer', minimum: 100, maximum: 599 })
  status?: number;
  /** @example "answered 503" */
  error!: string;
  /**
   * The beginning of the answer, at most 1 KiB, without what cannot be printed.
   * @example "Service Unavailable"
   */
  answer!: string;
}

export class WebhookDto {
  /** @example "wh_4a7d1ed414474e4033ac29cc" */
  id!: string;
  /** @example "https://acme.example/webhooks/threats" */
  url!: string;
  /** Absent: of all kinds. */
  @ApiPropertyOptional({ type: 'array', items: { type: 'string', enum: [...KIND_NAMES] } })
  types?: readonly ListedKind[] | undefined;
  /** Absent: of all types. */
  @ApiPropertyOptional({ type: 'array', items: { type: 'string' } })
  assetTypes?: readonly string[] | undefined;
  /** Absent: in all statuses. */
  @ApiPropertyOptional({ type: 'array', items: { type: 'string' } })
  statuses?: readonly string[] | undefined;
  /** @example 1 */
  @ApiProperty({ type: 'integer', minimum: 1, maximum: MAX_BATCH })
  batch!: number;
  /** @example "Blocks at our gateway" */
  @ApiPropertyOptional({ type: 'string' })
  description?: string | undefined;
  /**
   * `FAILING`: its last delivery failed, and is tried again.
   * @example "ACTIVE"
   */
  @ApiProperty({ enum: STATES })
  state!: (typeof STATES)[number];
  /** Of a disabled one: `requested`; `gone`, because it answered 410; or `failing`, for 5 days without a success. */
  @ApiPropertyOptional({ enum: DISABLED_REASONS })
  disabledReason?: DisabledReason | undefined;
  /**
   * Records that are still to be sent, of the next 10,000 changes in the feed.
   * @example 0
   */
  @ApiProperty({ type: 'integer', minimum: 0, maximum: 10_000 })
  behind!: number;
  /** Absent: nothing was delivered yet. */
  @ApiPropertyOptional({ type: 'string', format: 'date-time' })
  lastSuccessAt?: string | undefined;
  /** Absent: nothing has failed yet. */
  @ApiPropertyOptional({ type: () => WebhookFailureDto })
  lastFailure?: WebhookFailureDto | undefined;
  /** Absent: it is told as soon as there is something, or not at all. */
  @ApiPropertyOptional({ type: 'string', format: 'date-time' })
  nextAttemptAt?: string | undefined;
  /** Until when the previous secret still signs; absent: one signs. */
  @ApiPropertyOptional({ type: 'string', format: 'date-time' })
  previousSecretUntil?: string | undefined;
  /** @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ format: 'date-time' })
  createdAt!: string;
  /** @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ format: 'date-time' })
  updatedAt!: string;
}

export class CreatedWebhookDto extends WebhookDto {
  /** For `webhook-signature` (Standard Webhooks). Shown this once: absent where an answer is repeated. */
  @ApiPropertyOptional({ type: 'string', example: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=' })
  secret?: string | undefined;
}

export class WebhookListDto {
  /** In the order in which they were created. */
  webhooks!: WebhookDto[];
}

export class DeletedWebhookDto {
  /** @example true */
  success!: boolean;
  /** @example "wh_4a7d1ed414474e4033ac29cc" */
  id!: string;
}

export class RotatedSecretDto {
  /** @example "wh_4a7d1ed414474e4033ac29cc" */
  id!: string;
  /** Shown this once. */
  @ApiProperty({ type: 'string', example: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=' })
  secret!: string;
  /** Until when the previous secret still signs. */
  @ApiProperty({ format: 'date-time' })
  previousSecretUntil!: string;
}
