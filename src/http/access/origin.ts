import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { currentTraceparent } from '../request-span.js';

/** The request that caused an event, as recorded in the metadata of the event. */
export interface Origin {
  readonly keyId?: string;
  /** W3C Trace Context: the span of the request if this process traces it, otherwise the header as sent. */
  readonly traceparent?: string;
}

export const originOf = (request: Pick<FastifyRequest, 'caller' | 'headers' | 'span'>): Origin => {
  const { caller } = request;
  const traceparent = currentTraceparent(request);
  return { ...(caller && { keyId: caller.keyId }), ...(traceparent !== undefined && { traceparent }) };
};

/** For routes with `@Access`. */
export const RequestOrigin = createParamDecorator((_: unknown, context: ExecutionContext): Origin =>
  originOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
