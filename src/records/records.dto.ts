import { IsBrandSlug, IsDateText, IsFromAnswer, IsGivenOnce, IsLimit } from '../http/parameters.js';

export const DEFAULT_LIMIT = 100;
/** Says what a cursor has to be. */
export const NO_CURSOR = 'cursor must be the nextCursor of the page before, with the same parameters besides limit';

/** What a list is of. */
export class SelectionRequest {
  /**
   * The first instant of the range: an ISO 8601 date (its first millisecond, UTC) or date-time (UTC without an offset).
   * Default: the beginning of time.
   * @example '2026-01-01T00:00:00.000Z'
   */
  @IsDateText()
  startDate?: string;

  /**
   * The last instant of the range: an ISO 8601 date (its last millisecond, UTC) or date-time (UTC without an offset).
   * Default: now, as of the first page, if a start is given; otherwise everything is listed.
   * @example '2026-01-31'
   */
  @IsDateText()
  endDate?: string;

  /**
   * Restricts the list to one of the organization's brands; requires the feature flag `brands-metrics`. Not of threats,
   * which carry no brand.
   * @example 'acme-wallet'
   */
  @IsBrandSlug()
  brandSlug?: string;

  /**
   * One or several statuses, separated by commas. Not of reports.
   * @example 'BLOCKED,APPROVED'
   */
  @IsGivenOnce()
  status?: string;

  /**
   * One or several asset types, separated by commas. Not of reports.
   * @example 'URL,TWITTER'
   */
  @IsGivenOnce()
  assetType?: string;

  /**
   * One asset, read as the asset check reads it: records whose asset has the same type and normalised key. Not of
   * reports.
   * @example 'hxxps://evil[.]example'
   */
  @IsGivenOnce()
  content?: string;
}

export class RecordsRequest extends SelectionRequest {
  /**
   * Records per page, 1 to 1,000. Default: 100. A page may be shorter.
   * @example 100
   */
  @IsLimit(1000, DEFAULT_LIMIT)
  limit?: string;

  /** The `nextCursor` of the page before, with the same parameters besides `limit`; absent for the first page. */
  @IsFromAnswer(NO_CURSOR)
  cursor?: string;
}
