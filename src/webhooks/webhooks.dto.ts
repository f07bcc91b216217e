import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { applyDecorators } from '@nestjs/common';
import { IsIn, ValidateBy, ValidateIf } from 'class-validator';
import { KIND_NAMES, type ListedKind } from '../events/listed-items.js';
import { DISABLED_REASONS, type DisabledReason, MAX_BATCH, MAX_NAMES, MAX_URL } from '../events/types/organizations.js';
import { Checked } from '../http/body/validation.js';
import { IsLimit } from '../http/parameters.js';
import { isUpperCaseName, isUnstorable } from '../events/declaring/fields.js';

/** The parts of the API reference that all routes with a webhook id share. */
export const NO_SUCH_WEBHOOK = 'The organization has no webhook with this id.';
export const WEBHOOK_ID = {
  name: 'id',
  description: "The webhook's id.",
  schema: { type: 'string', example: 'wh_4a7d1ed414474e4033ac29cc' },
} as const;

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

const MAX_DESCRIPTION = 255;
const MAX_ATTEMPTS = 100;

const IfGiven = (): PropertyDecorator => ValidateIf((_, value) => value !== undefined);

const isKind = (name: unknown): boolean => KIND_NAMES.some((kind) => kind === name);
const isName = (name: unknown): boolean => typeof name === 'string' && isUpperCaseName(name);

/** Validates null or a list of names. */
const IsFilter = (
  isName: (name: unknown) => boolean,
  rule: string,
  items: { readonly type: 'string'; readonly enum?: string[] } = { type: 'string' },
): PropertyDecorator =>
  applyDecorators(
    IfGiven(),
    ValidateBy(
      {
        name: 'filter',
        validator: {
          validate: (value) =>
            value === null ||
            (Array.isArray(value) && value.length >= 1 && value.length <= MAX_NAMES && value.every(isName)),
        },
      },
      { message: `$property must be null or a list of ${rule}` },
    ),
    ApiPropertyOptional({ type: 'array', items, minItems: 1, maxItems: MAX_NAMES, nullable: true }),
  );

const batchIssue = (value: unknown): string | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_BATCH
    ? undefined
    : `batch must be a whole number from 1 to ${MAX_BATCH}`;

const descriptionIssue = (value: unknown): string | undefined => {
  if (value === null) return undefined;
  if (typeof value !== 'string' || value === '' || value.length > MAX_DESCRIPTION)
    return `description must be null or 1 to ${MAX_DESCRIPTION} characters`;
  return isUnstorable(value) ? 'description must not contain U+0000 or lone surrogates' : undefined;
};

const startIssue = (value: unknown): string | undefined =>
  typeof value === 'string' ? undefined : 'from must be "beginning" or an ISO 8601 time';

/** The settings of a webhook. The controller validates `url`, because it knows which addresses may be reached. */
class WebhookSettingsDto {
  /**
   * Delivers only records of these kinds. If null or absent, delivers all kinds.
   * @example ["threat", "takedown"]
   */
  @IsFilter(isKind, `one or more of ${KIND_NAMES.join(', ')}`, { type: 'string', enum: [...KIND_NAMES] })
  types?: ListedKind[] | null;

  /**
   * Delivers only records about assets of these types. Deletions are delivered regardless of the type. If null or
   * absent, delivers all types.
   * @example ["URL"]
   */
  @IsFilter(isName, `1 to ${MAX_NAMES} upper-case names`)
  assetTypes?: string[] | null;

  /**
   * Delivers only records with these statuses. Deletions are delivered regardless of the status. If null or absent,
   * delivers all statuses.
   * @example ["BLOCKED", "COMPLETED"]
   */
  @IsFilter(isName, `1 to ${MAX_NAMES} upper-case names`)
  statuses?: string[] | null;

  /**
   * Maximum number of records in a delivery. If greater than 1, each delivery is a batch, even if the delivery has one
   * record. If absent, a new webhook has 1, and a changed webhook keeps its value.
   * @example 1
   */
  @IfGiven()
  @Checked(batchIssue)
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: MAX_BATCH })
  batch?: number;

  /**
   * A description for people.
   * @example "Blocks at our gateway"
   */
  @IfGiven()
  @Checked(descriptionIssue)
  @ApiPropertyOptional({ type: 'string', minLength: 1, maxLength: MAX_DESCRIPTION, nullable: true })
  description?: string | null;
}

const URL_RULE =
  'The URL that deliveries are sent to. It must use `https`, contain no user or password, and have port 443, or 1024 or ' +
  'above. Its host must be a public name or address. The URL is normalised, and its fragment is removed.';

export class NewWebhookDto extends WebhookSettingsDto {
  @IfGiven()
  @ApiProperty({
    type: 'string',
    maxLength: MAX_URL,
    description: URL_RULE,
    example: 'https://acme.example/webhooks/threats',
  })
  url!: string;

  /**
   * Where in the feed deliveries start: `beginning`, or an ISO 8601 time. If absent, deliveries start at the current
   * end of the feed.
   * @example "2026-03-01T00:00:00Z"
   */
  @IfGiven()
  @Checked(startIssue)
  @ApiPropertyOptional({ type: 'string' })
  from?: string;
}

export class WebhookChangeDto extends WebhookSettingsDto {
  @IfGiven()
  @ApiPropertyOptional({ type: 'string', maxLength: MAX_URL, description: URL_RULE })
  url?: string;

  /**
   * `DISABLED` stops deliveries; no change is lost. `ACTIVE` resumes deliveries from where they stopped.
   * @example "ACTIVE"
   */
  @IfGiven()
  @IsIn(['ACTIVE', 'DISABLED'], { message: 'state must be ACTIVE or DISABLED' })
  @ApiPropertyOptional({ enum: ['ACTIVE', 'DISABLED'] })
  state?: 'ACTIVE' | 'DISABLED';
}

export class RotationDto {
  /**
   * If `true`, rotates the secret even if two secrets are in use; the older of the two stops signing. Use `true` if a
   * secret has leaked. Default: false.
   */
  @IfGiven()
  @Checked((value) => (typeof value === 'boolean' ? undefined : 'force must be true or false'))
  @ApiPropertyOptional({ type: 'boolean' })
  force?: boolean;
}

export class ReplayDto {
  /**
   * `beginning`, or an ISO 8601 time. Changes that were stored since this time are sent again, each record in its
   * newest state.
   * @example "2026-03-01T00:00:00Z"
   */
  @Checked(startIssue)
  @ApiProperty({ type: 'string' })
  from!: string;
}

export class AttemptsRequest {
  /** Maximum number of attempts, 1 to 100. Default: 100. */
  @IsLimit(100, MAX_ATTEMPTS)
  limit?: string;
}
