import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, ValidateBy, ValidateIf } from 'class-validator';
import { Checked } from '../http/body/checked.js';
import { IsLimit } from '../http/parameters.js';
import { isUpperCaseName } from '../events/declaring/fields.js';
import { isUnstorable } from '../events/declaring/text.js';
import { KIND_NAMES, type ListedKind } from '../events/kinds.js';
import { MAX_BATCH, MAX_NAMES, MAX_URL } from '../events/types/webhooks.js';

const MAX_DESCRIPTION = 255;
const MAX_ATTEMPTS = 100;

const IfGiven = (): PropertyDecorator => ValidateIf((_, value) => value !== undefined);

const isKind = (name: unknown): boolean => KIND_NAMES.some((kind) => kind === name);
const isName = (name: unknown): boolean => typeof name === 'string' && isUpperCaseName(name);

/** Null, or a list of names. */
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

/** What an organization decides about an endpoint; `url` is read where it is known what may be reached. */
class WebhookSettingsDto {
  /**
   * Of these kinds of records only. Null or absent: of all.
   * @example ["threat", "takedown"]
   */
  @IsFilter(isKind, `one or several of ${KIND_NAMES.join(', ')}`, { type: 'string', enum: [...KIND_NAMES] })
  types?: ListedKind[] | null;

  /**
   * Of records about assets of these types only; deletions are told whatever the type was. Null or absent: of all.
   * @example ["URL"]
   */
  @IsFilter(isName, `1 to ${MAX_NAMES} upper-case names`)
  assetTypes?: string[] | null;

  /**
   * Of records in these statuses only; deletions are told whatever the status was. Null or absent: in all.
   * @example ["BLOCKED", "COMPLETED"]
   */
  @IsFilter(isName, `1 to ${MAX_NAMES} upper-case names`)
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
  @Checked(startIssue)
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
  @Checked(startIssue)
  @ApiProperty({ type: 'string' })
  from!: string;
}

export class AttemptsRequest {
  /** Attempts at most, 1 to 100. Default: 100. */
  @IsLimit(100, MAX_ATTEMPTS)
  limit?: string;
}
