import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { IsDefined, IsString } from 'class-validator';
import { IsGivenOnce, IsLimit, IsOpaqueText } from '../../http/parameters.js';
import { INVALID_CURSOR } from '../../http/responses/page-cursor.js';
import {
  eachOf,
  METRIC_NAMES,
  type MetricOfRecords,
  Metrics,
  METRICS_OF_RECORDS,
  MetricsRequest,
  type Totals,
} from '../metrics.dto.js';
import { DIFFERENCE, Differences } from '../comparison.dto.js';

export class RestatementRequest extends MetricsRequest {
  /**
   * The earlier state: an instant in the past, a date-time with a zone, or the `Consistency-Token` of an earlier response.
   * Without `endDate`, the range ends at that instant.
   * @example '2026-03-01T00:00:00Z'
   */
  @IsDefined({ message: 'from is required' })
  @IsString({ message: 'from must be given once' })
  from!: string;

  /**
   * The later state, in the same form. Default: the present.
   * @example '2026-06-01T00:00:00Z'
   */
  @IsGivenOnce()
  to?: string;
}

export const DEFAULT_RESTATED = 100;

export class RestatedRecordsRequest extends RestatementRequest {
  /**
   * Records per page, 1 to 1,000. Default: 100.
   * @example 100
   */
  @IsLimit(1000, DEFAULT_RESTATED)
  limit?: string;

  /** The `nextCursor` of the previous page, with the same parameters except `limit`. Absent for the first page. */
  @IsOpaqueText(INVALID_CURSOR)
  cursor?: string;
}

export class DifferenceOfType {
  /** The asset type. @example 'URL' */
  type!: string;
  /** Threats blocked according to the later state, less those according to the earlier state. */
  @ApiProperty({ ...DIFFERENCE, example: -12 })
  count!: number;
}

export class RestatedDifference {
  metrics!: Differences;
  /** One item per asset type whose numbers differ, sorted by name. */
  blockedByType!: DifferenceOfType[];
}

export class RestatedDay {
  /** The UTC day. @example '2026-02-14' */
  @ApiProperty({ type: String, format: 'date' })
  date!: string;
  /** Threats blocked on that day, according to the earlier state. @example 12 */
  then!: number;
  /** The same, according to the later state. @example 14 */
  now!: number;
}

export class AddedAndRemoved {
  /** What counts according to the later state only. @example 3 */
  added!: number;
  /** What counts according to the earlier state only. @example 1 */
  removed!: number;
}

/** The sum of everything added, less everything removed, is the difference. */
export class ChangesOfMetric {
  /** Records that were first stored after the end of the range and after the earlier state. */
  late!: AddedAndRemoved;
  /** All other records. */
  corrected!: AddedAndRemoved;
}

export class ChangesOfType extends ChangesOfMetric {
  /** The asset type. @example 'URL' */
  type!: string;
}

const eachMetric = (schema: object): object => ({
  example: eachOf(METRIC_NAMES, () => ({ late: { added: 3, removed: 0 }, corrected: { added: 1, removed: 2 } })),
  type: 'object',
  required: [...METRIC_NAMES],
  properties: eachOf(METRIC_NAMES, () => schema),
});

@ApiExtraModels(ChangesOfMetric)
export class RestatedChanges {
  /** The changes of each metric. */
  @ApiProperty(eachMetric({ $ref: getSchemaPath(ChangesOfMetric) }))
  metrics!: Record<keyof Totals, ChangesOfMetric>;
  /** One item per asset type with a changed threat, sorted by name. */
  blockedByType!: ChangesOfType[];
}

export class Restatement {
  /** The metrics of the range according to the earlier state. */
  then!: Metrics;
  /** The metrics of the same range according to the later state. */
  now!: Metrics;
  /** `now` less `then`. */
  difference!: RestatedDifference;
  /** The days whose number of blocked threats differs, in chronological order. */
  days!: RestatedDay[];
  /** Where the difference comes from. A record that moves to another day of the range is added and removed. */
  changes!: RestatedChanges;
}

export const CAUSES = ['new', 'deleted', 'status', 'moved', 'type', 'brand'] as const;
export type Cause = (typeof CAUSES)[number];

export class CountedAs {
  /** The metric of which the record is one unit. @example 'newThreats' */
  @ApiProperty({ enum: [...METRICS_OF_RECORDS] })
  metric!: MetricOfRecords;
  /** The asset type of a blocked threat; null for everything else. */
  @ApiProperty({ type: String, nullable: true, example: 'URL' })
  type!: string | null;
  /** The instant at which the record counts. @example '2026-02-14T09:30:00.000Z' */
  @ApiProperty({ type: String, format: 'date-time' })
  at!: string;
}

export class AssetOfRecord {
  /** @example 'URL' */
  type!: string;
  /** @example 'phish.example/login' */
  content!: string;
}

export class RestatedRecord {
  /** The kind of the record, as in the feed. @example 'threat' */
  @ApiProperty({ enum: ['report', 'threat', 'takedown', 'verdict'] })
  kind!: 'report' | 'threat' | 'takedown' | 'verdict';
  /** @example 'threat-5512' */
  id!: string;
  /**
   * The asset in its present state. Absent for reports and deleted records.
   * @example { "type": "URL", "content": "phish.example/login" }
   */
  asset?: AssetOfRecord;
  /** As what the record counts in the range according to the earlier state. */
  then!: CountedAs[];
  /** The same, according to the later state. */
  now!: CountedAs[];
  /**
   * `new`: the record was first stored after the earlier state. `deleted`: it was deleted. `brand`: it concerns the brand no
   * longer, or now. `status`: another status counts. `moved`: it counts at another instant. `type`: it has another asset type.
   * The first that applies, in this order: new, deleted, brand, status, type, moved.
   * @example 'moved'
   */
  @ApiProperty({ enum: [...CAUSES] })
  cause!: Cause;
  /** Whether the record was first stored after the end of the range and after the earlier state. @example true */
  late!: boolean;
  /** When the event was stored that made the record count as in the later state. @example '2026-03-02T08:00:00.000Z' */
  @ApiProperty({ type: String, format: 'date-time' })
  changedAt!: string;
}

export class RestatedRecords {
  /** The record that changed last comes first. */
  items!: RestatedRecord[];
  /** Absent on the last page. */
  nextCursor?: string;
}
