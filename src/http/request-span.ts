import type { FastifyRequest, RouteHandlerMethod } from 'fastify';
import { traceparentOf } from '../tracing/traceparent.js';
import type { Span, Tracing } from '../tracing/tracing.js';
import { pathOf } from './request-line.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** What is traced of it; null if nothing is. */
    span: Span | null;
  }
}

/** Where a request is in its trace: as this process traces it, else as the caller said. */
export const placeOf = ({ span, headers }: Pick<FastifyRequest, 'span' | 'headers'>): string | undefined =>
  span?.traceparent ?? traceparentOf(headers['traceparent']);

/**
 * Begins to trace a request whose caller may call: whoever has no key does not make the collector work.
 * @param name method and pattern of the route
 * @param route the pattern
 * @param since when the request came, by `performance.now()`
 */
export const beginSpan = (
  tracer: Tracing,
  request: FastifyRequest,
  name: string,
  route: string,
  since: number,
): void => {
  const { method, headers, raw } = request;
  const span = tracer.begin({
    name,
    kind: 'server',
    attributes: () => ({
      'http.request.method': method,
      'http.route': route,
      'url.path': pathOf(request.url),
      'url.scheme': request.protocol,
      'network.protocol.version': raw.httpVersion,
    }),
    parent: traceparentOf(headers['traceparent']),
    startedAgoMs: performance.now() - since,
  });
  if (span !== undefined) request.span = span;
};

/** @param status as it is logged: 499 for a client that left */
export const endSpan = ({ span }: FastifyRequest, status: number): void => {
  if (span === null) return;
  span.set({ 'http.response.status_code': status });
  // By the conventions a client's mistake is no error of a server.
  span.end(status >= 500 ? String(status) : undefined);
};

/**
 * A handler that works within its request's span. Not a hook, which would cost every request; and not earlier, because a
 * body is read by its connection, which knows of no request.
 */
export const withinSpan = (tracer: Tracing, handler: RouteHandlerMethod): RouteHandlerMethod =>
  function (request, reply) {
    if (request.span === null) return handler.call(this, request, reply);
    return tracer.within([request.span], () => handler.call(this, request, reply));
  };
