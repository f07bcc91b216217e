import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, ValidateIf } from 'class-validator';
import { Checked } from '../http/body/checked.js';
import { IsLimit } from '../http/parameters.js';
import { isUpperCaseName } from '../events/declaring/fields.js';
import { isUnstorable } from '../events/declaring/text.js';
import { FEED_KINDS } from '../events/feed-schema.js';
import { DISABLED_REASONS, type DisabledReason, MAX_BATCH, MAX_NAMES, MAX_URL } from '../events/types/webhooks.js';

const MAX_DESCRIPTION = 255;
const MAX_ATTEMPTS = 100;
const STATES = ['ACTIVE', 'FAILING', 'DISABLED'] as const;

const IfGiven = (): PropertyDecorator => ValidateIf((_, value) => value !== undefined);

const namesIssue =
  (field: string, isName: (name: unknown) => boolean, rule: string) =>
  (value: unknown): string | undefined =>
    value === null || (Array.isArray(value) && value.length >= 1 && value.length <= MAX_NAMES && value.every(isName))
      ? undefined
      : `${field} must be null or a list of ${rule}`;

const kindsIssue = namesIssue(
  'types',
  (name) => FEED_KINDS.some((kind) => kind === name),
  `one or several of ${FEED_KINDS.join(', ')}`,
);
const namesRule = `1 to ${MAX_NAMES} upper-case names`;
const isName = (name: unknown): boolean => typeof name === 'string' && isUpperCaseName(name);

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

/** What an organization decides about an endpoint; `url` is read where it is known what may be reached. */
class WebhookSettingsDto {
  /**
   * Of these kinds of records only. Null or absent: of all.
   * @example ["threat", "takedown"]
   */
  @IfGiven()
  @Checked(kindsIssue)
  @ApiPropertyOptional({
    type: 'array',
    items: { type: 'string', enum: [...FEED_KINDS] },
    minItems: 1,
    maxItems: MAX_NAMES,
    nullable: true,
  })
  types?: (typeof FEED_KINDS)[number][] | null;

  /**
   * Of records about assets of these types only; deletions are told whatever the type was. Null or absent: of all.
   * @example ["URL"]
   */
  @IfGiven()
  @Checked(namesIssue('assetTypes', isName, namesRule))
  @ApiPropertyOptional({
    type: 'array',
    items: { type: 'string' },
    minItems: 1,
    maxItems: MAX_NAMES,
    nullable: true,
  })
  assetTypes?: string[] | null;

  /**
   * Of records in these statuses only; deletions are told whatever the status was. Null or absent: in all.
   * @example ["BLOCKED", "COMPLETED"]
   */
  @IfGiven()
  @Checked(namesIssue('statuses', isName, namesRule))
  @ApiPropertyOptional({
    type: 'array',
    items: { type: 'string' },
    minItems: 1,
    maxItems: MAX_NAMES,
    nullable: true,
  })
  statuses?: string[] | null;

  /**
   * Records of a delivery at most. Over 1, deliveries are batches, even of one record.
   * @example 1
   */
  @IfGiven()
  @Checked(batchIssue)
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: MAX_BATCH, default: 1 })
  batch?: number;

  /**
   * For people.
   * @example "Blocks at our gateway"
   */
  @IfGiven()
  @Checked(descriptionIssue)
  @ApiPropertyOptional({ type: 'string', minLength: 1, maxLength: MAX_DESCRIPTION, nullable: true })
  description?: string | null;
}

const URL_RULE =
  'Where deliveries are sent: `https`, no user or password, port 443 or 1024 and above, the host a public name or address. ' +
  'Its form is normalised, and a fragment left out.';

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
   * Where in the feed it begins: `beginning`, or an ISO 8601 time. Absent: at the feed's present end.
   * @example "2026-03-01T00:00:00Z"
   */
  @IfGiven()
  @Checked((value) => (typeof value === 'string' ? undefined : 'from must be "beginning" or an ISO 8601 time'))
  @ApiPropertyOptional({ type: 'string' })
  from?: string;
}

export class WebhookChangeDto extends WebhookSettingsDto {
  @IfGiven()
  @ApiPropertyOptional({ type: 'string', maxLength: MAX_URL, description: URL_RULE })
  url?: string;

  /**
   * `DISABLED`: nothing is sent, and nothing lost. `ACTIVE`: it is told again, from where it stopped.
   * @example "ACTIVE"
   */
  @IfGiven()
  @IsIn(['ACTIVE', 'DISABLED'], { message: 'state must be ACTIVE or DISABLED' })
  @ApiPropertyOptional({ enum: ['ACTIVE', 'DISABLED'] })
  state?: 'ACTIVE' | 'DISABLED';
}

export class RotationDto {
  /** A secret has leaked: rotate even where two sign already; the older of them no longer does. */
  @IfGiven()
  @Checked((value) => (typeof value === 'boolean' ? undefined : 'force must be true or false'))
  @ApiPropertyOptional({ type: 'boolean', default: false })
  force?: boolean;
}

export class ReplayDto {
  /**
   * `beginning`, or an ISO 8601 time: what was stored since then is sent again, each record as its newest state.
   * @example "2026-03-01T00:00:00Z"
   */
  @Checked((value) => (typeof value === 'string' ? undefined : 'from must be "beginning" or an ISO 8601 time'))
  @ApiProperty({ type: 'string' })
  from!: string;
}

export class AttemptsRequest {
  /** Attempts at most, 1 to 100. Default: 100. */
  @IsLimit(100, MAX_ATTEMPTS)
  limit?: string;
}

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
  @ApiPropertyOptional({ type: 'array', items: { type: 'string', enum: [...FEED_KINDS] } })
  types?: readonly (typeof FEED_KINDS)[number][] | undefined;
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
  /** Until when the secret before also signs; absent: one signs. */
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
  /** Until when the secret before also signs. */
  @ApiProperty({ format: 'date-time' })
  previousSecretUntil!: string;
}

export class TestResultDto {
  /** The `webhook-id` it was sent with. */
  deliveryId!: string;
  /** Of the answer; absent if none came. */
  @ApiPropertyOptional({ type: 'integer', minimum: 100, maximum: 599 })
  status?: number | undefined;
  /** Why it would be tried again; absent: a success. */
  @ApiPropertyOptional({ type: 'string' })
  error?: string | undefined;
  /** The beginning of the answer, at most 1 KiB, without what cannot be printed. */
  @ApiPropertyOptional({ type: 'string' })
  answer?: string | undefined;
  /**
   * How long it took, milliseconds.
   * @example 41
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  ms!: number;
}

export class SetAsideDto {
  /** @example "threat" */
  type!: string;
  /** @example "threat-17" */
  id!: string;
}

export class AttemptDto {
  /** @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ format: 'date-time' })
  at!: string;
  /** Whether it was a `webhook.test`. */
  isTest!: boolean;
  /** Its `webhook-id`: the same over retries of the same content. */
  deliveryId!: string;
  /**
   * How many it held.
   * @example 1
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  records!: number;
  /** Of the answer; absent if none came. */
  @ApiPropertyOptional({ type: 'integer', minimum: 100, maximum: 599 })
  status?: number | undefined;
  /** Absent: a success. */
  @ApiPropertyOptional({ type: 'string' })
  error?: string | undefined;
  /**
   * How long it took, milliseconds.
   * @example 41
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  ms!: number;
  /** The record that was refused so often that it was set aside after this attempt. */
  @ApiPropertyOptional({ type: () => SetAsideDto })
  setAside?: SetAsideDto | undefined;
}

export class AttemptListDto {
  /** The newest first. */
  attempts!: AttemptDto[];
}
