import { IsBrandSlug, IsDateText, IsOpaqueText, IsGivenOnce, IsLimit } from '../http/parameters.js';
import { INVALID_CURSOR } from '../http/responses/page-cursor.js';

export const DEFAULT_LIMIT = 100;

/** Which records a list contains. */
export class SelectionRequest {
  /**
   * The first instant of the range: an ISO 8601 date, which means its first millisecond in UTC, or a date-time, which
   * is in UTC unless it has an offset. Default: the beginning of time.
   * @example '2026-01-01T00:00:00.000Z'
   */
  @IsDateText()
  startDate?: string;

  /**
   * The last instant of the range: an ISO 8601 date, which means its last millisecond in UTC, or a date-time, which is in
   * UTC unless it has an offset.
   * Default: the time of the first page if `startDate` is given; otherwise everything is listed.
   * @example '2026-01-31'
   */
  @IsDateText()
  endDate?: string;

  /**
   * Restricts the list to one of the organization's brands; requires the feature flag `brands-metrics`. Not available
   * for threats and disputes, which have no brand.
   * @example 'acme-wallet'
   */
  @IsBrandSlug()
  brandSlug?: string;

  /**
   * One or more statuses, separated by commas. Not available for reports.
   * @example 'BLOCKED,APPROVED'
   */
  @IsGivenOnce()
  status?: string;

  /**
   * One or more asset types, separated by commas. Not available for reports.
   * @example 'URL,TWITTER'
   */
  @IsGivenOnce()
  assetType?: string;

  /**
   * One asset, parsed as in the asset check. The list contains the records whose asset has the same type and normalised
   * key. Not available for reports.
   * @example 'hxxps://evil[.]example'
   */
  @IsGivenOnce()
  content?: string;
}

export class RecordsRequest extends SelectionRequest {
  /**
   * Records per page, 1 to 1,000. Default: 100. A page may have fewer records.
   * @example 100
   */
  @IsLimit(1000, DEFAULT_LIMIT)
  limit?: string;

  /** The `nextCursor` of the previous page, with the same parameters except `limit`. Absent for the first page. */
  @IsOpaqueText(INVALID_CURSOR)
  cursor?: string;
}
