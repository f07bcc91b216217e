import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray } from 'class-validator';
import { ASSET_STATUSES, type AssetStatus } from '../events/asset-statuses.js';
import { IsContent } from './content.js';
import { type Code, CODES, type Mode, MODES, type Reason, REASONS } from './opinion.js';

const MAX_CONTENTS = 1_000;
const CONTENTS = `Contents must be an array of 1 to ${MAX_CONTENTS} strings`;

export class AssetCheckRequest {
  /**
   * A URL, a host, an IP address, a wallet address, a profile link or `@handle`, an e-mail address or content on
   * IPFS; defanged text is read as meant. 1 to 4,096 characters.
   * @example "https://polkadot-dot.info/claim"
   */
  @IsContent()
  @ApiProperty({ type: String, minLength: 1, maxLength: 4_096 })
  content!: string;
}

export class BulkAssetCheckRequest {
  /**
   * What could not be asked alone is answered with the code `parse-error`.
   * @example ["https://polkadot-dot.info/claim", "hxxps://evil[.]example"]
   */
  @IsArray({ message: CONTENTS })
  @ArrayMinSize(1, { message: CONTENTS })
  @ArrayMaxSize(MAX_CONTENTS, { message: CONTENTS })
  @ApiProperty({ type: [String], minItems: 1, maxItems: MAX_CONTENTS })
  contents!: unknown[];
}

export class SourceAnswerDto {
  /**
   * The id of the source.
   * @example "metamask"
   */
  source!: string;
  @ApiProperty({ enum: ASSET_STATUSES, example: 'BLOCKED' })
  status!: AssetStatus;
  /** A disabled source is listed, not asked. */
  @ApiProperty({ enum: MODES, example: 'ENABLED' })
  mode!: Mode;
  /**
   * Why the source says so: `not-found` it does not list the asset; `unsupported-type` it knows nothing of assets of
   * this type; `source-error` it failed; `timeout` it did not answer in time; `parent-domain` a domain, page or profile
   * above the asset is listed and decides; `hosting-domain` a domain above it is listed, but anybody can publish there.
   */
  @ApiProperty({ enum: REASONS, required: false })
  reason?: Reason;
  /**
   * The listed entry that hit, as its source wrote it.
   * @example "polkadot-dot.info"
   */
  match?: string;
}

export class UnderstoodAsset {
  /** @example "URL" */
  type!: string;
  /** @example "polkadot-dot.info" */
  content!: string;
}

export class AssetCheckAnswer {
  /** UNKNOWN means that no source lists the asset; nothing is said for or against it. */
  @ApiProperty({ enum: ASSET_STATUSES, example: 'BLOCKED' })
  status!: AssetStatus;
  /**
   * The source that decided, the own one where none did.
   * @example "metamask"
   */
  source!: string;
  /**
   * Why. Absent where our own status of exactly this asset decides; `external-source` where another source's exact
   * entry does; `parent-domain` where an entry of a domain, page or profile above it does; `not-found` with a `code`.
   */
  @ApiProperty({ enum: REASONS, required: false, example: 'external-source' })
  reason?: Reason;
  /** One item for every configured source, in configured order. */
  @ApiProperty({ type: [SourceAnswerDto] })
  sources!: readonly SourceAnswerDto[];
  /**
   * One sentence for a person: who lists the content that was asked, since when if known, where to appeal if that is
   * known.
   */
  @ApiProperty({
    example:
      '"https://polkadot-dot.info/claim" is blocked: the source metamask has "polkadot-dot.info" on its blocklist.',
  })
  message!: string;
  /** What the content was understood as; absent with `parse-error`. */
  asset?: UnderstoodAsset;
  /**
   * Why nothing was asked: `parse-error` the content is no asset; `internal-scheme` it is an address of the browser,
   * the machine or a private network; `internal-error` the check itself failed.
   */
  @ApiProperty({ enum: CODES, required: false })
  code?: Code;
}

export class BulkSummary {
  /** @example 1 */
  blocked!: number;
  /** @example 0 */
  allowed!: number;
  /** @example 1 */
  unknown!: number;
  /**
   * Those with a `code`.
   * @example 0
   */
  errored!: number;
  /**
   * Those in which an enabled source that knows the type gave no answer: it failed, or not in time.
   * @example 0
   */
  incomplete!: number;
}

export class BulkAssetCheckAnswer {
  /** In the order of the contents. */
  @ApiProperty({ type: [AssetCheckAnswer] })
  results!: readonly AssetCheckAnswer[];
  /** The first four add up to the number of contents. */
  summary!: BulkSummary;
}

export class PastStatus {
  /** UNKNOWN takes an earlier status back. */
  @ApiProperty({ enum: ASSET_STATUSES, example: 'BLOCKED' })
  status!: AssetStatus;
  /**
   * From when it was the status (ISO 8601, UTC), until the entry above it.
   * @example "2026-03-01T12:00:00.000Z"
   */
  @ApiProperty({ type: String, format: 'date-time' })
  from!: string;
  /** The brands of the asking organization that reviewed it; those of others are not named. */
  @ApiProperty({ type: [String], example: ['acme-wallet'] })
  brands!: readonly string[];
  /**
   * The asset it is about: exactly this page or profile, or the host or account that it stands for.
   * @example "polkadot-dot.info"
   */
  match!: string;
}

export class ListedSince {
  /**
   * The id of the source.
   * @example "metamask"
   */
  source!: string;
  /** A disabled source is listed, not asked. */
  @ApiProperty({ enum: MODES, example: 'ENABLED' })
  mode!: Mode;
  /** What the list says now, as in the asset check. */
  @ApiProperty({ enum: ASSET_STATUSES, example: 'BLOCKED' })
  status!: AssetStatus;
  /** Why, as in the asset check. */
  @ApiProperty({ enum: REASONS, required: false })
  reason?: Reason;
  /**
   * The entry that hit, as its source wrote it; it may be of a domain, page or profile above the asset.
   * @example "polkadot-dot.info"
   */
  match?: string;
  /**
   * Since when the list has had the entry without a break, as far as this service saw it (ISO 8601, UTC). Where it is
   * `watchedSince`, the entry may be older.
   * @example "2026-03-04T08:15:00.000Z"
   */
  @ApiProperty({ type: String, format: 'date-time', required: false })
  seenSince?: string;
  /**
   * When this service first read the list (ISO 8601, UTC); absent where it never did, or keeps nothing of so long a
   * list. Each data folder has a memory of its own.
   * @example "2026-01-10T00:00:00.000Z"
   */
  @ApiProperty({ type: String, format: 'date-time', required: false })
  watchedSince?: string;
}

export class AssetHistoryAnswer {
  /** What the content was understood as; absent with `parse-error`. */
  asset?: UnderstoodAsset;
  /** Why nothing was asked, as in the asset check. */
  @ApiProperty({ enum: CODES, required: false })
  code?: Code;
  /** This service's own statuses of exactly this asset, the newest first, at most 100. */
  @ApiProperty({ type: [PastStatus] })
  statuses!: readonly PastStatus[];
  /** Whether there are older ones.
   * @example false
   */
  hasMore!: boolean;
  /** One item for every configured list, in configured order. */
  @ApiProperty({ type: [ListedSince] })
  lists!: readonly ListedSince[];
}
