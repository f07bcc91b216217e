import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray } from 'class-validator';
import { ASSET_STATUSES, type AssetStatus } from '../events/types/verdicts.js';
import { contentIssue } from '../assets/asset.js';
import { Checked } from '../http/body/validation.js';
import {
  type NoVerdictCode,
  NO_VERDICT_CODES,
  type SourceMode,
  SOURCE_MODES,
  type Reason,
  REASONS,
} from './verdict.js';
import { limit } from '../limits.js';

const MAX_CONTENTS = limit('contents of a bulk check', 1_000, 'contents', 'request', '400');
const CONTENTS = `Contents must be an array of 1 to ${MAX_CONTENTS} strings`;

export class AssetCheckRequest {
  /**
   * A URL, a host, an IP address, a wallet address, a profile link or `@handle`, an e-mail address or IPFS content.
   * Defanged text is refanged. 1 to 4,096 characters.
   * @example "https://polkadot-dot.info/claim"
   */
  @Checked(contentIssue)
  @ApiProperty({ type: String, minLength: 1, maxLength: 4_096 })
  content!: string;
}

export class BulkAssetCheckRequest {
  /**
   * The assets. A content that a single check would reject as invalid gets the code `parse-error`.
   * @example ["https://polkadot-dot.info/claim", "hxxps://evil[.]example"]
   */
  @IsArray({ message: CONTENTS })
  @ArrayMinSize(1, { message: CONTENTS })
  @ArrayMaxSize(MAX_CONTENTS, { message: CONTENTS })
  @ApiProperty({ type: [String], minItems: 1, maxItems: MAX_CONTENTS })
  contents!: unknown[];
}

export class SourceStatusDto {
  /**
   * The source's id.
   * @example "metamask"
   */
  source!: string;
  @ApiProperty({ enum: ASSET_STATUSES, example: 'BLOCKED' })
  status!: AssetStatus;
  /** A disabled source is listed but not queried. */
  @ApiProperty({ enum: SOURCE_MODES, example: 'ENABLED' })
  mode!: SourceMode;
  /**
   * Why the source has this status. `not-found`: the source does not list the asset. `unsupported-type`: the source does
   * not cover assets of this type. `source-error`: the source failed. `timeout`: the source did not respond in time.
   * `parent-domain`: the source lists a domain, page or profile above the asset, which determines the status.
   * `hosting-domain`: the source lists a domain above the asset, but anybody can publish there.
   */
  @ApiProperty({ enum: REASONS, required: false })
  reason?: Reason;
  /**
   * The matching entry, in the notation of the source.
   * @example "polkadot-dot.info"
   */
  match?: string;
  /**
   * The guard because of which the matching BLOCKED entry does not count: the entry would block a host of the guard as a
   * whole, such as `popular`. `status` is then UNKNOWN.
   */
  guardedBy?: string;
}

export class UnderstoodAsset {
  /** @example "URL" */
  type!: string;
  /**
   * In a bulk check, content of more than 120 characters is cut and ends with an ellipsis.
   * @example "polkadot-dot.info"
   */
  content!: string;
}

export class AssetCheckResponse {
  /** UNKNOWN means that no source lists the asset, not that the asset is safe. */
  @ApiProperty({ enum: ASSET_STATUSES, example: 'BLOCKED' })
  status!: AssetStatus;
  /**
   * The source that determined the status. If no source determined the status, this service's own source.
   * @example "metamask"
   */
  source!: string;
  /**
   * Why the asset has this status. Absent if this service's own status of exactly this asset determined the status.
   * `external-source`: an exact entry of another source determined the status. `parent-domain`: an entry for a domain,
   * page or profile above the asset determined the status. `not-found`: no source that answered lists the asset, or, if
   * `code` is present, no source was queried.
   */
  @ApiProperty({ enum: REASONS, required: false, example: 'external-source' })
  reason?: Reason;
  /** One item per configured source, in the configured order. */
  @ApiProperty({ type: [SourceStatusDto] })
  sources!: readonly SourceStatusDto[];
  /** One sentence for a person: who lists the content, since when, and where to appeal, if known. */
  @ApiProperty({
    example:
      '"https://polkadot-dot.info/claim" is blocked: the source metamask has "polkadot-dot.info" on its blocklist.',
  })
  message!: string;
  /**
   * How the content was parsed. Absent with `parse-error`.
   * @example {"type": "URL", "content": "polkadot-dot.info"}
   */
  asset?: UnderstoodAsset;
  /**
   * Why no source was queried. `parse-error`: the content is not an asset. `internal-scheme`: the content is an address
   * that is valid only inside a browser (such as `about:` or `chrome:`), on the local machine or on a private network.
   * `internal-error`: the check itself failed.
   */
  @ApiProperty({ enum: NO_VERDICT_CODES, required: false })
  code?: NoVerdictCode;
  /**
   * How long a client may keep this result, in seconds. The result is not kept beyond the instant at which a status of
   * this service that the check has read expires, and only for 10 seconds if a source that gave no answer could change the
   * result.
   * @example 300
   */
  @ApiProperty({ type: 'integer', minimum: 0, maximum: 300 })
  cacheSeconds!: number;
}

export class BulkSummary {
  /** @example 1 */
  blocked!: number;
  /** @example 0 */
  allowed!: number;
  /** @example 1 */
  unknown!: number;
  /**
   * Results with a `code`.
   * @example 0
   */
  errored!: number;
  /**
   * Results to which an enabled source did not contribute, because the source failed or was too slow.
   * @example 0
   */
  incomplete!: number;
}

export class BulkAssetCheckResponse {
  /** The results, in the order of the contents. */
  @ApiProperty({ type: [AssetCheckResponse] })
  results!: readonly AssetCheckResponse[];
  /** The first four counts add up to the number of contents. */
  summary!: BulkSummary;
}

export class PastStatus {
  /** UNKNOWN withdraws an earlier status. */
  @ApiProperty({ enum: ASSET_STATUSES, example: 'BLOCKED' })
  status!: AssetStatus;
  /**
   * When the status began (ISO 8601, UTC). The status ended when the status of the preceding item began, and applies again
   * once that status has expired.
   * @example "2026-03-01T12:00:00.000Z"
   */
  @ApiProperty({ type: String, format: 'date-time' })
  from!: string;
  /** From when on the item does not determine the status any more (ISO 8601, UTC). Absent: never. */
  @ApiProperty({ type: String, format: 'date-time', required: false })
  expiresAt?: string;
  /** The organization's own brands that reviewed the asset. Brands of other organizations are not shown. */
  @ApiProperty({ type: [String], example: ['acme-wallet'] })
  brands!: readonly string[];
  /**
   * The asset that has the status: the requested page or profile, or the host or account that this page or profile
   * belongs to.
   * @example "polkadot-dot.info"
   */
  match!: string;
}

export class ListedSince {
  /**
   * The source's id.
   * @example "metamask"
   */
  source!: string;
  /** A disabled source is listed but not queried. */
  @ApiProperty({ enum: SOURCE_MODES, example: 'ENABLED' })
  mode!: SourceMode;
  /** The current status in the list, as in the asset check. */
  @ApiProperty({ enum: ASSET_STATUSES, example: 'BLOCKED' })
  status!: AssetStatus;
  /** Why the list has this status, as in the asset check. */
  @ApiProperty({ enum: REASONS, required: false })
  reason?: Reason;
  /**
   * The matching entry, in the notation of the source. The entry may be for a domain, page or profile above the asset.
   * @example "polkadot-dot.info"
   */
  match?: string;
  /**
   * The guard because of which the matching BLOCKED entry does not count: the entry would block a host of the guard as a
   * whole, such as `popular`. `status` is then UNKNOWN.
   */
  guardedBy?: string;
  /**
   * The time since which the list has contained the entry without interruption, as observed by this service (ISO 8601,
   * UTC). If this time equals `watchedSince`, the entry may be older.
   * @example "2026-03-04T08:15:00.000Z"
   */
  @ApiProperty({ type: String, format: 'date-time', required: false })
  seenSince?: string;
  /**
   * When this service first read the list (ISO 8601, UTC). Absent if this service has never read the list, or if the
   * list is too long to track. The times are kept in `DATA_DIR`, so instances with different `DATA_DIR`s may return
   * different times.
   * @example "2026-01-10T00:00:00.000Z"
   */
  @ApiProperty({ type: String, format: 'date-time', required: false })
  watchedSince?: string;
}

export class AssetHistoryResponse {
  /**
   * How the content was parsed. Absent with `parse-error`.
   * @example {"type": "URL", "content": "polkadot-dot.info"}
   */
  asset?: UnderstoodAsset;
  /** Why no source was queried, as in the asset check. */
  @ApiProperty({ enum: NO_VERDICT_CODES, required: false })
  code?: NoVerdictCode;
  /** This service's own statuses of exactly this asset, newest first, at most 100. */
  @ApiProperty({ type: [PastStatus] })
  statuses!: readonly PastStatus[];
  /**
   * Whether older statuses exist.
   * @example false
   */
  hasMore!: boolean;
  /** One item per configured list, in the configured order. */
  @ApiProperty({ type: [ListedSince] })
  lists!: readonly ListedSince[];
}
