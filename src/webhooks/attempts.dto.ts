import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class TestResultDto {
  /** The `webhook-id` it was sent with. */
  deliveryId!: string;
  /** Of the answer; absent if none came. */
  @ApiPropertyOptional({ type: 'integer', minimum: 100, maximum: 599 })
  status?: number | undefined;
  /** Why it would be tried again; absent: a success. */
  @ApiPropertyOptional({ type: 'string' })
  error?: string | undefined;
  /** The beginning of the answer, at most 1 KiB, without what cannot be printed. */
  @ApiPropertyOptional({ type: 'string' })
  answer?: string | undefined;
  /**
   * How long it took, milliseconds.
   * @example 41
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  ms!: number;
}

export class SetAsideDto {
  /** @example "threat" */
  type!: string;
  /** @example "threat-17" */
  id!: string;
}

export class AttemptDto {
  /** @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ format: 'date-time' })
  at!: string;
  /** Whether it was a `webhook.test`. */
  isTest!: boolean;
  /** Its `webhook-id`: the same over retries of the same content. */
  deliveryId!: string;
  /**
   * How many it held.
   * @example 1
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  records!: number;
  /** Of the answer; absent if none came. */
  @ApiPropertyOptional({ type: 'integer', minimum: 100, maximum: 599 })
  status?: number | undefined;
  /** Absent: a success. */
  @ApiPropertyOptional({ type: 'string' })
  error?: string | undefined;
  /**
   * How long it took, milliseconds.
   * @example 41
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  ms!: number;
  /** The record that was refused so often that it was set aside after this attempt. */
  @ApiPropertyOptional({ type: () => SetAsideDto })
  setAside?: SetAsideDto | undefined;
}

export class AttemptListDto {
  /** The newest first. */
  attempts!: AttemptDto[];
}
