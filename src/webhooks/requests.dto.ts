import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, ValidateBy, ValidateIf } from 'class-validator';
import { Checked } from '../http/body/checked.js';
import { IsLimit } from '../http/parameters.js';
import { isUpperCaseName } from '../events/declaring/fields.js';
import { isUnstorable } from '../events/declaring/text.js';
import { KIND_NAMES, type ListedKind } from '../events/listed-items.js';
import { MAX_BATCH, MAX_NAMES, MAX_URL } from '../events/types/webhooks.js';

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
