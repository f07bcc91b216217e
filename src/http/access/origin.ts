import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { traceparentOf } from '../trace-parent.js';

/** What an event's metadata records about the request that caused it. */
export interface Origin {
  readonly keyId?: string;
  /** W3C Trace Context, as sent. */
  readonly traceparent?: string;
}

export const originOf = ({ caller, headers }: Pick<FastifyRequest, 'caller' | 'headers'>): Origin => {
  const traceparent = traceparentOf(headers['traceparent']);
  return { ...(caller && { keyId: caller.keyId }), ...(traceparent !== undefined && { traceparent }) };
};

/** For routes with `@Access`. */
export const RequestOrigin = createParamDecorator((_: unknown, context: ExecutionContext): Origin =>
  originOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
