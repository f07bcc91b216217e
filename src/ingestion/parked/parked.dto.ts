import { ApiProperty } from '@nestjs/swagger';

/** An event that is stored and that a projection could not apply. */
export class ParkedEventDto {
  /** The `source` of the event, as sent. Null if the log does not contain the `source`. @example "https://upstream.example" */
  @ApiProperty({ type: String, nullable: true })
  source!: string | null;
  /** The `id` of the event, as sent. Null if the log does not contain the `id`. @example "threat-5512:approved" */
  @ApiProperty({ type: String, nullable: true })
  id!: string | null;
  /** @example "ThreatStatusChanged" */
  type!: string;
  /** The projection that could not apply the event. All other projections have applied the event. @example "metrics" */
  projection!: string;
  /** When the event was parked. @example "2026-03-01T12:00:01.000Z" */
  @ApiProperty({ type: String, format: 'date-time' })
  since!: string;
  /** When the event was stored in the log. Null if this time was not kept. @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  storedAt!: string | null;
  /** How often the projection has tried to apply the event. @example 1 */
  @ApiProperty({ type: 'integer', minimum: 1 })
  attempts!: number;
  /** @example "data.updatedAt must be an RFC 3339 time with an offset" */
  reason!: string;
}

export class ParkedPageDto {
  /** The parked events, in descending order of their position in the log. */
  items!: ParkedEventDto[];
  /** The cursor of the next page. Absent on the last page. */
  nextCursor?: string;
}
