import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { KIND_NAMES, type ListedKind } from '../events/listed-items.js';
import { DISABLED_REASONS, type DisabledReason, MAX_BATCH } from '../events/types/webhooks.js';

const STATES = ['ACTIVE', 'FAILING', 'DISABLED'] as const;

export class WebhookFailureDto {
  /** @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ format: 'date-time' })
  at!: string;
  /**
   * The status of the response. Absent if there was no response.
   * @example 503
   */
  @ApiPropertyOptional({ type: 'integer', minimum: 100, maximum: 599 })
  status?: number;
  /** @example "responded with 503" */
  error!: string;
  /**
   * The beginning of the response body, at most 1 KiB, without unprintable characters.
   * @example "Service Unavailable"
   */
  responseBody!: string;
}

export class WebhookDto {
  /** @example "wh_4a7d1ed414474e4033ac29cc" */
  id!: string;
  /** @example "https://acme.example/webhooks/threats" */
  url!: string;
  /** The kinds of records that are delivered. Absent if all kinds are delivered. */
  @ApiPropertyOptional({
    type: 'array',
    items: { type: 'string', enum: [...KIND_NAMES] },
    example: ['threat', 'takedown'],
  })
  types?: readonly ListedKind[] | undefined;
  /** The asset types whose records are delivered. Absent if all types are delivered. */
  @ApiPropertyOptional({ type: 'array', items: { type: 'string' }, example: ['URL'] })
  assetTypes?: readonly string[] | undefined;
  /** The statuses whose records are delivered. Absent if records with any status are delivered. */
  @ApiPropertyOptional({ type: 'array', items: { type: 'string' }, example: ['BLOCKED', 'COMPLETED'] })
  statuses?: readonly string[] | undefined;
  /** @example 1 */
  @ApiProperty({ type: 'integer', minimum: 1, maximum: MAX_BATCH })
  batch!: number;
  /** @example "Blocks at our gateway" */
  @ApiPropertyOptional({ type: 'string' })
  description?: string | undefined;
  /**
   * `FAILING`: the last delivery failed and is being retried.
   * @example "ACTIVE"
   */
  @ApiProperty({ enum: STATES })
  state!: (typeof STATES)[number];
  /**
   * Why the webhook is disabled. `requested`: a request or the operator disabled the webhook. `gone`: the endpoint
   * returned 410. `failing`: no delivery succeeded for 5 days.
   */
  @ApiPropertyOptional({ enum: DISABLED_REASONS })
  disabledReason?: DisabledReason | undefined;
  /**
   * Number of records that are still to be sent, among the next 10,000 changes in the feed.
   * @example 0
   */
  @ApiProperty({ type: 'integer', minimum: 0, maximum: 10_000 })
  behind!: number;
  /** When the last successful delivery was sent. Absent if nothing has been delivered yet. */
  @ApiPropertyOptional({ type: 'string', format: 'date-time' })
  lastSuccessAt?: string | undefined;
  /** The last failed delivery. Absent if no delivery has failed yet. */
  @ApiPropertyOptional({ type: () => WebhookFailureDto })
  lastFailure?: WebhookFailureDto | undefined;
  /**
   * When the next retry is due. Absent if no retry is due: new records are sent immediately, or not at all if the webhook
   * is disabled.
   */
  @ApiPropertyOptional({ type: 'string', format: 'date-time' })
  nextAttemptAt?: string | undefined;
  /** When the previous secret stops signing deliveries. Absent if only one secret is in use. */
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
  /**
   * The secret of `webhook-signature` (Standard Webhooks). The secret is shown only in this response, and is absent if
   * the response repeats an earlier response.
   */
  @ApiPropertyOptional({ type: 'string', example: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=' })
  secret?: string | undefined;
}

export class WebhookListDto {
  /** All webhooks, in the order in which they were created. */
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
  /** The new secret, which is shown only in this response. */
  @ApiProperty({ type: 'string', example: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=' })
  secret!: string;
  /**
   * When the previous secret stops signing deliveries.
   * @example "2026-03-02T12:00:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  previousSecretUntil!: string;
}
