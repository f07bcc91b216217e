import { applyDecorators } from '@nestjs/common';
import { ApiCreatedResponse, ApiHeader, type ApiResponseOptions } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { ApiFailure } from '../errors/error-body.dto.js';
import { REPLAYED } from '../errors/error-response.js';

/** The header of a response to a repeated request, for responses other than the created item. */
export const REPLAYED_HEADER = {
  'Idempotent-Replayed': {
    description: '`true` if this response repeats the first response to the `Idempotency-Key`; otherwise absent.',
    schema: { type: 'string' as const, enum: ['true'] },
  },
};

interface Creation {
  /** What is created, such as `group`. */
  readonly noun: string;
  /** The path of an item. */
  readonly example: string;
  /** What a repeated request gets, as the end of a sentence. */
  readonly repeats: string;
  /** When the answer is 422. */
  readonly unprocessable?: string;
  readonly response: ApiResponseOptions;
}

/** Documents a route that creates an item and accepts an `Idempotency-Key`. */
export const ApiCreation = ({ noun, example, repeats, unprocessable, response }: Creation): MethodDecorator =>
  applyDecorators(
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: `1 to 255 printable characters. For 24 hours, a request with the same ${repeats}`,
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    }),
    ApiCreatedResponse({
      headers: {
        Location: {
          description: `The URL of the ${noun}.`,
          required: true,
          schema: { type: 'string', format: 'uri-reference' },
          example,
        },
        ...REPLAYED_HEADER,
      },
      ...response,
    }),
    ApiFailure(422, unprocessable ?? 'The `Idempotency-Key` was used with another body.'),
  );

/** Sets the headers of the response to a request that created the item at `path`, or has created it before. */
export const setCreated = (reply: FastifyReply, path: string, isReplayed: boolean): void => {
  void reply.headers({ location: path, ...(isReplayed && REPLAYED) });
};
