import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiHeader, ApiOkResponse, ApiResponse, getSchemaPath } from '@nestjs/swagger';

const HEADERS = {
  'X-As-Of': {
    description: 'Everything that `POST /v2/events` acknowledged before this instant (ISO 8601, UTC) is counted.',
    required: true,
    schema: { type: 'string', format: 'date-time' },
  },
  ETag: {
    description: 'Weak: names the content of the answer. Send it as `If-None-Match` to be answered 304 while it stays.',
    required: true,
    schema: { type: 'string' },
  },
} as const;

/**
 * How a route of metrics answers.
 * @param others media types beside JSON, each with what it looks like
 */
export const ApiCounted = (type: Type, others: Readonly<Record<string, string>> = {}): MethodDecorator =>
  applyDecorators(
    ApiExtraModels(type),
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: 'The `ETag` of an answer that the client has, several of them, or `*`.',
      schema: { type: 'string' },
    }),
    ApiOkResponse({
      description: 'Counted, all of it at one moment.',
      headers: HEADERS,
      content: {
        'application/json': { schema: { $ref: getSchemaPath(type) } },
        ...Object.fromEntries(
          Object.entries(others).map(([name, example]) => [name, { schema: { type: 'string' as const }, example }]),
        ),
      },
    }),
    ApiResponse({ status: 304, description: 'The client has this content already.', headers: HEADERS }),
  );
