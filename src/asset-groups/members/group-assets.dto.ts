import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray } from 'class-validator';
import { IsFromAnswer, IsLimit } from '../../http/parameters.js';
import {
  MAX_CONTENTS,
  MEMBERSHIP_REASONS,
  MEMBERSHIP_RESULTS,
  type MembershipItem,
  type MembershipReason,
  type MembershipResult,
} from './membership.js';

export const DEFAULT_LIMIT = 100;
const CONTENTS = `Contents must be an array of 1 to ${MAX_CONTENTS} strings`;
export const NO_CURSOR = 'cursor must be the nextCursor of an earlier page of this group';

export class GroupAssetsRequest {
  /**
   * Assets per page, 1 to 1,000; a page of 256 KiB ends before. Default: 100.
   * @example 100
   */
  @IsLimit(1000, DEFAULT_LIMIT)
  limit?: string;

  /** The `nextCursor` of the previous page; absent for the first. */
  @IsFromAnswer(NO_CURSOR)
  cursor?: string;
}

export class GroupAssetDto {
  /** @example "URL" */
  type!: string;
  /**
   * As it was reported, or the normalised form if it was added here.
   * @example "polkadot-dot.info"
   */
  content!: string;
  /**
   * When it was last added to the group (ISO 8601, UTC).
   * @example "2026-03-01T12:00:00.000Z"
   */
  @ApiProperty({ type: String, format: 'date-time' })
  since!: string;
}

export class GroupAssetPageDto {
  /**
   * At most `limit`; fewer, at least one, if they would be more than 256 KiB. In a stable order: an asset that stays in the group is on exactly one page, whatever is written in
   * between.
   */
  assets!: GroupAssetDto[];
  /**
   * Cursor of the next page; absent on the last page. Opaque, and valid for this group only.
   * @example "MTowYzVmY2YwMWRjZTA2NGRkZGY4ZDIzYjk4YzlhODI1Zg"
   */
  nextCursor?: string;
}

export class MembershipRequest {
  /**
   * Contents as in the asset check, 1 to 4,096 characters each. One that cannot be parsed has the result `error` and
   * does not affect the others.
   * @example ["https://polkadot-dot.info/claim", "hxxps://evil[.]example"]
   */
  @IsArray({ message: CONTENTS })
  @ArrayMinSize(1, { message: CONTENTS })
  @ArrayMaxSize(MAX_CONTENTS, { message: CONTENTS })
  @ApiProperty({ type: [String], minItems: 1, maxItems: MAX_CONTENTS })
  contents!: unknown[];
}

export class UnderstoodGroupAsset {
  /** @example "URL" */
  type!: string;
  /** @example "polkadot-dot.info" */
  content!: string;
}

export class MembershipItemDto implements MembershipItem {
  /**
   * `added`: it was in no group. `moved`: it was in another group. `removed`: it was in this group. `unchanged`:
   * nothing to do, or a repetition within the request. `error`: it was not processed.
   */
  @ApiProperty({ enum: MEMBERSHIP_RESULTS, example: 'added' })
  result!: MembershipResult;
  /** How the content was understood; absent with `parse-error`. */
  asset?: UnderstoodGroupAsset;
  /**
   * With `moved`: the group it was in.
   * @example 2
   */
  movedFrom?: number;
  /**
   * With `error`. `parse-error`: the content is not an asset, or too long. `internal-scheme`: it is an address of the
   * browser, the machine or a private network. `internal-error`: no event can follow its newest one, which is dated at
   * the end of time.
   */
  @ApiProperty({ enum: MEMBERSHIP_REASONS, required: false })
  reason?: MembershipReason;
  /**
   * With `error`: why, for people.
   * @example "It could not be read as an asset"
   */
  message?: string;
}

export class AssignmentSummary {
  /** @example 1 */
  added!: number;
  /** @example 0 */
  moved!: number;
  /** @example 1 */
  unchanged!: number;
  /** @example 0 */
  errored!: number;
}

export class AssignmentAnswer {
  /** In the order of the contents. */
  @ApiProperty({ type: [MembershipItemDto] })
  results!: readonly MembershipItemDto[];
  /** The four counts add up to the number of contents. */
  summary!: AssignmentSummary;
}

export class RemovalSummary {
  /** @example 1 */
  removed!: number;
  /** @example 1 */
  unchanged!: number;
  /** @example 0 */
  errored!: number;
}

export class RemovalAnswer {
  /** In the order of the contents. */
  @ApiProperty({ type: [MembershipItemDto] })
  results!: readonly MembershipItemDto[];
  /** The three counts add up to the number of contents. */
  summary!: RemovalSummary;
}
