import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class TestResultDto {
  /** The `webhook-id` of the test request. @example "msg_0c1f4a7e" */
  deliveryId!: string;
  /** The status of the response. Absent if there was no response. */
  @ApiPropertyOptional({ type: 'integer', minimum: 100, maximum: 599, example: 204 })
  status?: number | undefined;
  /** Why the test failed. Absent if the test succeeded. */
  @ApiPropertyOptional({ type: 'string' })
  error?: string | undefined;
  /** The beginning of the response body, at most 1 KiB, without unprintable characters. */
  @ApiPropertyOptional({ type: 'string' })
  responseBody?: string | undefined;
  /**
   * Duration of the request, in milliseconds.
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
  /** Whether the attempt was a `webhook.test`. @example false */
  isTest!: boolean;
  /** The `webhook-id` of the delivery. Retries of the same content have the same id. @example "msg_0c1f4a7e" */
  deliveryId!: string;
  /**
   * Number of records in the delivery.
   * @example 1
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  records!: number;
  /** The status of the response. Absent if there was no response. */
  @ApiPropertyOptional({ type: 'integer', minimum: 100, maximum: 599, example: 204 })
  status?: number | undefined;
  /** Why the attempt failed. Absent if the attempt succeeded. */
  @ApiPropertyOptional({ type: 'string' })
  error?: string | undefined;
  /**
   * Duration of the request, in milliseconds.
   * @example 41
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  ms!: number;
  /** The record that was set aside after this attempt, because the endpoint had rejected the record too often. */
  @ApiPropertyOptional({ type: () => SetAsideDto })
  setAside?: SetAsideDto | undefined;
}

export class AttemptListDto {
  /** The attempts, newest first. */
  attempts!: AttemptDto[];
}
