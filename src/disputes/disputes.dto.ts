import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ValidateIf } from 'class-validator';
import { contentIssue } from '../assets/asset.js';
import { isLongerThan, isUnstorable } from '../events/declaring/fields.js';
import { MAX_REASON } from '../events/types/verdicts.js';
import { Checked } from '../http/body/validation.js';
import { limit } from '../limits.js';

/** Maximum number of characters of a contact, as of an e-mail address. */
const MAX_CONTACT = limit('`contact` of a dispute', 254, 'characters', 'value', '400');

const IfGiven = (): PropertyDecorator => ValidateIf((_, value) => value !== undefined);

const textIssue =
  (name: string, longest: number) =>
  (value: unknown): string | undefined => {
    if (typeof value !== 'string' || value === '' || isLongerThan(value, longest))
      return `${name} must be 1 to ${longest} characters`;
    return isUnstorable(value) ? `${name} must not contain U+0000 or lone surrogates` : undefined;
  };

const disputedContentIssue = (value: unknown): string | undefined =>
  contentIssue(value) ??
  (isUnstorable(value as string) ? 'Content must not contain U+0000 or lone surrogates' : undefined);

export class NewDisputeDto {
  /**
   * The blocked asset, written in any form that the asset check accepts, 1 to 4,096 characters.
   * @example "https://polkadot-dot.info/claim"
   */
  @Checked(disputedContentIssue)
  @ApiProperty({ type: String, minLength: 1, maxLength: 4_096 })
  content!: string;

  /**
   * Why the verdict is wrong, for the people who decide the dispute.
   * @example "This is our own shop."
   */
  @IfGiven()
  @Checked(textIssue('reason', MAX_REASON))
  @ApiPropertyOptional({ type: String, minLength: 1, maxLength: MAX_REASON })
  reason?: string;

  /**
   * Whom to ask, such as an e-mail address. Only the operator of the service sees the contact; no response, delivery or
   * log contains it. It is erased 90 days after the dispute was resolved.
   * @example "security@acme.example"
   */
  @IfGiven()
  @Checked(textIssue('contact', MAX_CONTACT))
  @ApiPropertyOptional({ type: String, minLength: 1, maxLength: MAX_CONTACT })
  contact?: string;
}
