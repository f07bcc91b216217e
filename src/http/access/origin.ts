import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { placeOf } from '../request-span.js';

/** What an event's metadata records about the request that caused it. */
export interface Origin {
  readonly keyId?: string;
  /** W3C Trace Context, as sent, or the request's own place where this process traces it. */
  readonly traceparent?: string;
}

export const originOf = (request: Pick<FastifyRequest, 'caller' | 'headers' | 'span'>): Origin => {
  const { caller } = request;
  const traceparent = placeOf(request);
  return { ...(caller && { keyId: caller.keyId }), ...(traceparent !== undefined && { traceparent }) };
};

/** For routes with `@Access`. */
export const RequestOrigin = createParamDecorator((_: unknown, context: ExecutionContext): Origin =>
  originOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
