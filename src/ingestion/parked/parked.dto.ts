import { ApiProperty } from '@nestjs/swagger';

/** An event that is stored and that a projection could not apply. */
export class ParkedEventDto {
  /** As it was sent; null if the log does not say. @example "https://upstream.example" */
  @ApiProperty({ type: String, nullable: true })
  source!: string | null;
  /** As it was sent; null if the log does not say. @example "threat-5512:approved" */
  @ApiProperty({ type: String, nullable: true })
  id!: string | null;
  /** @example "ThreatStatusChanged" */
  type!: string;
  /** What could not apply it; the others have. @example "metrics" */
  projection!: string;
  /** Since when it is parked. @example "2026-03-01T12:00:01.000Z" */
  @ApiProperty({ type: String, format: 'date-time' })
  since!: string;
  /** When the log took it; null if that was not kept. @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  storedAt!: string | null;
  /** How often it was tried. @example 1 */
  @ApiProperty({ type: 'integer', minimum: 1 })
  attempts!: number;
  /** @example "data.updatedAt must be an RFC 3339 time with an offset" */
  reason!: string;
}

export class ParkedPageDto {
  /** The last in the log first. */
  items!: ParkedEventDto[];
  /** The cursor of the next page; absent on the last. */
  nextCursor?: string;
}
