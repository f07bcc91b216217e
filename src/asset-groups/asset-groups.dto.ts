import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray } from 'class-validator';
import { Checked } from '../http/body/validation.js';
import { isUnstorable } from '../events/declaring/fields.js';
import { IsOpaqueText, IsLimit } from '../http/parameters.js';
import {
  MAX_CONTENTS,
  MEMBERSHIP_REASONS,
  MEMBERSHIP_RESULTS,
  type MembershipItem,
  type MembershipReason,
  type MembershipResult,
} from './membership.js';

const MAX_NAME_LENGTH = 255;

const nameIssue = (name: unknown): string | undefined => {
  if (typeof name !== 'string') return 'Group name is required';
  // Counting code points is expensive, so they are counted only if the number of UTF-16 units does not decide.
  const isTooLong = name.length > MAX_NAME_LENGTH && Array.from(name).length > MAX_NAME_LENGTH;
  if (name === '' || isTooLong) return `Group name must be between 1 and ${MAX_NAME_LENGTH} characters`;
  return isUnstorable(name) ? 'Group name must not contain U+0000 or lone surrogates' : undefined;
};

export class AssetGroupNameDto {
  /**
   * The name has 1 to 255 Unicode code points, and is stored as sent, without trimming or case folding. The name is
   * unique within the organization; uniqueness is case-sensitive.
   * @example "Landing pages"
   */
  @Checked(nameIssue)
  @ApiProperty({ minLength: 1, maxLength: MAX_NAME_LENGTH })
  name!: string;
}

export class NamedAssetGroupDto {
  /**
   * Groups are numbered 1, 2, 3 … within the organization. Ids are never reused.
   * @example 1
   */
  id!: number;
  /** @example "Landing pages" */
  name!: string;
}

export class ListedAssetGroupDto {
  /** @example 1 */
  id!: number;
  /** @example "Landing pages" */
  name!: string;
  /**
   * Number of assets in the group.
   * @example 12
   */
  assetCount!: number;
}

export class AssetGroupListDto {
  /** All groups of the organization, in order of `id`. */
  groups!: ListedAssetGroupDto[];
}

export class DeletedAssetGroupDto {
  /** @example true */
  success!: boolean;
  /** @example 1 */
  id!: number;
  /**
   * Number of assets that were in the group and are now in no group.
   * @example 12
   */
  unassignedAssetCount!: number;
}

export const DEFAULT_LIMIT = 100;
const CONTENTS = `Contents must be an array of 1 to ${MAX_CONTENTS} strings`;
export const INVALID_CURSOR = 'cursor must be the nextCursor of an earlier page of this group';

export class GroupAssetsRequest {
  /**
   * Assets per page, 1 to 1,000. Default: 100. A page is also limited to 256 KiB.
   * @example 100
   */
  @IsLimit(1000, DEFAULT_LIMIT)
  limit?: string;

  /** The `nextCursor` of the previous page. Absent for the first page. */
  @IsOpaqueText(INVALID_CURSOR)
  cursor?: string;
}

export class GroupAssetDto {
  /** @example "URL" */
  type!: string;
  /**
   * The content as upstream reported it, or the normalised content if the asset was added through this API.
   * @example "polkadot-dot.info"
   */
  content!: string;
  /**
   * When the asset was last added to the group (ISO 8601, UTC).
   * @example "2026-03-01T12:00:00.000Z"
   */
  @ApiProperty({ type: String, format: 'date-time' })
  since!: string;
}

export class GroupAssetPageDto {
  /**
   * At most `limit` assets. A page has fewer assets, but at least one, if more would exceed 256 KiB. The order is stable:
   * an asset that stays in the group is on exactly one page, even if the group changes between pages.
   */
  assets!: GroupAssetDto[];
  /** The cursor of the next page. Absent on the last page. The cursor is opaque and valid for this group only. */
  nextCursor?: string;
}

export class MembershipRequest {
  /**
   * The assets, each written in any form that the asset check accepts, 1 to 4,096 characters. A content that cannot be
   * parsed has the result `error` and does not affect the other contents.
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
   * `added`: the asset was in no group. `moved`: the asset was in another group. `removed`: the asset was in this group.
   * `unchanged`: no change was necessary, or the content is repeated within the request. `error`: the content was not
   * processed.
   */
  @ApiProperty({ enum: MEMBERSHIP_RESULTS, example: 'added' })
  result!: MembershipResult;
  /**
   * How the content was parsed. Absent with `parse-error`.
   * @example {"type": "URL", "content": "polkadot-dot.info"}
   */
  asset?: UnderstoodGroupAsset;
  /** The previous group of the asset. Present only with `moved`. */
  movedFrom?: number;
  /**
   * Present only with `error`. `parse-error`: the content is not an asset, or is too long. `internal-scheme`: the
   * content is an address that is valid only inside a browser, on the local machine or on a private network.
   * `internal-error`: the newest event of the asset has the latest possible date, so no event can follow it.
   */
  @ApiProperty({ enum: MEMBERSHIP_REASONS, required: false })
  reason?: MembershipReason;
  /** An explanation for people. Present only with `error`. */
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

export class AssignmentResponse {
  /** The results, in the order of the contents. */
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

export class RemovalResponse {
  /** The results, in the order of the contents. */
  @ApiProperty({
    type: [MembershipItemDto],
    example: [{ result: 'removed', asset: { type: 'URL', content: 'polkadot-dot.info' } }],
  })
  results!: readonly MembershipItemDto[];
  /** The three counts add up to the number of contents. */
  summary!: RemovalSummary;
}
