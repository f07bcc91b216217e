import { ApiProperty } from '@nestjs/swagger';
import { ERROR_CODES } from './error-codes.js';

/** One problem with a request. */
export class Issue {
  /**
   * What is wrong, where, and what is expected.
   * @example "data.updatedAt must be an RFC 3339 time with an offset"
   */
  message!: string;
}

/** One rejected item of a batch. */
export class RejectionDto {
  /** Its index in the request, from 0. */
  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  index!: number;
  /** Its id, if it has one. */
  id?: string;
  /** Every problem found in it. */
  issues!: Issue[];
}

/** The body of every error. */
export class ErrorBody {
  /** The kind of error: one per status. */
  @ApiProperty({ enum: Object.values(ERROR_CODES), example: 'BAD_REQUEST' })
  code!: string;
  /**
   * One sentence for people.
   * @example "Group name is required"
   */
  message!: string;
  /** The rejected events of a batch that was rejected as a whole. */
  rejected?: RejectionDto[];
  /** Every problem found, if the message does not cover them. */
  issues?: Issue[];
}
