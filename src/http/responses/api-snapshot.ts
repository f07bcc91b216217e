import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiHeader, ApiOkResponse, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { ApiFailure } from '../errors/api-failure.js';

/** The header `X-As-Of`. */
export const AS_OF = {
  description:
    'The response includes everything that `POST /v2/events` acknowledged before this instant (ISO 8601, UTC).',
  required: true,
  schema: { type: 'string', format: 'date-time' },
} as const;

const HEADERS = {
  'X-As-Of': AS_OF,
  ETag: {
    description:
      'A weak tag of the content. Send this tag as `If-None-Match` to get a 304 while the content is unchanged.',
    required: true,
    schema: { type: 'string' },
  },
} as const;

/**
 * Documents the responses of a route that returns data of one snapshot.
 * @param type the class of the JSON response, or the name of its schema; undefined if the route returns no JSON
 * @param others other media types, each with an example
 * @param unknown the resource named in the 404; null if the route has no 404
 */
export const ApiSnapshot = (
  type: Type | string | undefined,
  others: Readonly<Record<string, string>> = {},
  unknown: string | null = 'brand',
): MethodDecorator =>
  applyDecorators(
    ...(typeof type === 'function' ? [ApiExtraModels(type)] : []),
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: 'One or more `ETag`s of responses that the client has, or `*`.',
      schema: { type: 'string' },
    }),
    ApiOkResponse({
      description: 'All data is from one snapshot.',
      headers: HEADERS,
      content: {
        ...(type !== undefined && { 'application/json': { schema: { $ref: getSchemaPath(type) } } }),
        ...Object.fromEntries(
          Object.entries(others).map(([name, example]) => [name, { schema: { type: 'string' as const }, example }]),
        ),
      },
    }),
    ApiResponse({ status: 304, description: 'The content is unchanged.', headers: HEADERS }),
    ...(unknown === null ? [] : [ApiFailure(404, `The organization has no such ${unknown}.`)]),
  );
