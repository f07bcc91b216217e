import { ApiProperty } from '@nestjs/swagger';
import { ERROR_CODES } from './error-codes.js';

/** One thing that is wrong with a request. */
export class Issue {
  /**
   * What is wrong, where, and what it must be.
   * @example "data.updatedAt must be an RFC 3339 time with an offset"
   */
  message!: string;
}

/** One of many things that were sent, refused. */
export class RejectionDto {
  /** Its place in the request, from 0. */
  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  index!: number;
  /** Its id, if it has one. */
  id?: string;
  /** Everything that is wrong with it. */
  issues!: Issue[];
}

/** The one body of every error. */
export class ErrorBody {
  /** The kind of error: one per status. */
  @ApiProperty({ enum: Object.values(ERROR_CODES), example: 'BAD_REQUEST' })
  code!: string;
  /**
   * One sentence for the person who reads it.
   * @example "Group name is required"
   */
  message!: string;
  /** Of a batch of events that was refused as a whole. */
  rejected?: RejectionDto[];
  /** Everything that is wrong, where there is more to say than the message does. */
  issues?: Issue[];
}
