import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiHeader,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { ErrorBody } from '../http/errors/error-body.dto.js';

const HEADERS = {
  'X-As-Of': {
    description: 'Everything that `POST /v2/events` acknowledged before this instant (ISO 8601, UTC) is counted.',
    required: true,
    schema: { type: 'string', format: 'date-time' },
  },
  ETag: {
    description:
      'Weak; identifies the content. Send it as `If-None-Match` to get a 304 while the content is unchanged.',
    required: true,
    schema: { type: 'string' },
  },
} as const;

/**
 * Documents a metrics route's answers.
 * @param others media types besides JSON, each with an example
 */
export const ApiCounted = (type: Type, others: Readonly<Record<string, string>> = {}): MethodDecorator =>
  applyDecorators(
    ApiExtraModels(type),
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: 'One or more `ETag`s of answers the client has, or `*`.',
      schema: { type: 'string' },
    }),
    ApiOkResponse({
      description: 'All counts are of one snapshot.',
      headers: HEADERS,
      content: {
        'application/json': { schema: { $ref: getSchemaPath(type) } },
        ...Object.fromEntries(
          Object.entries(others).map(([name, example]) => [name, { schema: { type: 'string' as const }, example }]),
        ),
      },
    }),
    ApiResponse({ status: 304, description: 'The content is unchanged.', headers: HEADERS }),
    ApiNotFoundResponse({ description: 'The organization has no such brand.', type: ErrorBody }),
  );
