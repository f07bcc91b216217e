import { ApiProperty } from '@nestjs/swagger';
import { Checked } from '../../http/body/checked.js';
import { isUnstorable } from '../../events/declaring/text.js';

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
