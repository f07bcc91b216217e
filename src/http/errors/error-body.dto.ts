import { ApiProperty, ApiResponse } from '@nestjs/swagger';

/** The `code` of each error status. */
export const ERROR_CODES: Readonly<Record<number, string>> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  406: 'NOT_ACCEPTABLE',
  408: 'REQUEST_TIMEOUT',
  409: 'CONFLICT',
  410: 'GONE',
  413: 'PAYLOAD_TOO_LARGE',
  414: 'URI_TOO_LONG',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'UNPROCESSABLE_CONTENT',
  429: 'TOO_MANY_REQUESTS',
  431: 'REQUEST_HEADER_FIELDS_TOO_LARGE',
  500: 'INTERNAL_SERVER_ERROR',
  503: 'SERVICE_UNAVAILABLE',
};

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

/** Documents an error that a route may return. */
export const ApiFailure = (status: number, description: string): MethodDecorator & ClassDecorator =>
  ApiResponse({ status, description, type: ErrorBody });
