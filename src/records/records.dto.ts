import { ApiProperty, OmitType, PickType } from '@nestjs/swagger';
import type { Asset } from '../assets/asset.js';
import { IsBrandSlug, IsDateText, IsFromAnswer, IsGivenOnce, IsLimit } from '../http/parameters.js';
import { NO_CURSOR } from './page/cursor.js';

export const DEFAULT_LIMIT = 100;

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

/** The schemas of items in the reference are those of `feed-schema.ts`. */
export class TakedownItem {
  /** @example 'takedown-310' */
  id!: string;
  @ApiProperty({ type: Object })
  asset!: Asset;
  /** @example 'COMPLETED' */
  status!: string;
  /** The brand it was filed for, if any. @example 'acme-wallet' */
  brand?: string;
  /** @example '2026-03-01T12:10:00.000Z' */
  @ApiProperty({ type: String, format: 'date-time' })
  createdAt!: string;
  /** @example '2026-03-04T16:45:00.000Z' */
  @ApiProperty({ type: String, format: 'date-time' })
  updatedAt!: string;
}

export class ThreatItem extends OmitType(TakedownItem, ['brand', 'id']) {
  /** @example 'threat-5512' */
  id!: string;
}

export class ReportItem extends PickType(TakedownItem, ['createdAt', 'updatedAt']) {
  /** @example 'report-2041' */
  id!: string;
  /** The brands it names. @example ['acme-wallet'] */
  brands!: string[];
}

export class VerdictItem extends PickType(TakedownItem, ['asset', 'createdAt']) {
  /** @example 'change-90210' */
  id!: string;
  /** @example 'BLOCKED' */
  @ApiProperty({ enum: ['UNKNOWN', 'ALLOWED', 'BLOCKED'] })
  status!: string;
  /** The organization's own brands that it concerns, sorted. @example ['acme-wallet'] */
  brands!: string[];
}

export type RecordItem = ReportItem | ThreatItem | TakedownItem | VerdictItem;

class RecordPage {
  /**
   * The cursor of the next page; absent on the last. It does not expire, and works on every instance.
   * @example 'q83vASNFZ4mrze8BlM0uK2hS9dXf1YbQ7pT3wZkVnE4rGyLtUoJmCiAxHsDv5N6'
   */
  nextCursor?: string;
}

export class ReportPage extends RecordPage {
  /** Newest first; at one instant by id. */
  items!: ReportItem[];
}

export class ThreatPage extends RecordPage {
  /** Newest first; at one instant by id. */
  items!: ThreatItem[];
}

export class TakedownPage extends RecordPage {
  /** Newest first; at one instant by id. */
  items!: TakedownItem[];
}

export class VerdictPage extends RecordPage {
  /** Newest first; at one instant by id. */
  items!: VerdictItem[];
}
