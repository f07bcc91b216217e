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
  /** The index of the item in the request, from 0. */
  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  index!: number;
  /** The id of the item, if it has one. */
  id?: string;
  /** All problems found in the item. */
  issues!: Issue[];
}

/** The body of every error. */
export class ErrorBody {
  /** The kind of error. Each status has one code. */
  @ApiProperty({ enum: Object.values(ERROR_CODES), example: 'BAD_REQUEST' })
  code!: string;
  /**
   * A sentence for people.
   * @example "Group name is required"
   */
  message!: string;
  /** The rejected events, if a whole batch was rejected. */
  rejected?: RejectionDto[];
  /** All problems found, if the message does not cover them. */
  issues?: Issue[];
}
