import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest, RouteHandlerMethod } from 'fastify';
import { throttle } from '../flow/background.js';
import { traceparentOf, type Span, type Tracing } from '../runtime/tracing.js';

/** Request ids that a caller may choose. Only these characters are safe in a header and in the log. */
const VALID_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Returns the id of a request in the log and in its response: the caller's id if it is valid, otherwise a new one. */
export const requestIdOf = ({ headers }: IncomingMessage): string => {
  const given = headers['x-request-id'];
  return typeof given === 'string' && VALID_ID.test(given) ? given : randomUUID();
};

/** Returns the path of a URL. The query is left out of logs, because it may contain a key. */
export const pathOf = (url: string): string => /^[^?#]*/.exec(url)![0];

/** Describes a request in one log line. Control characters in the path are removed. */
export const requestLine = (
  { method, url }: { readonly method: string; readonly url: string },
  outcome: string,
  id: string,
  why: string,
): string => {
  const path = JSON.stringify(pathOf(url).replace(/\p{Cc}/gu, ' '));
  return `${method} ${path} ${outcome}, request ${id}: ${why}`;
};

/** Writes at most one line per second, with the number of lines left out before it. */
export const throttled = (write: (line: string) => void): ((line: string) => void) =>
  throttle((line, count) => write(count === 1 ? line : `${line} (and ${count - 1} more before it)`));

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of the request; null if the request is not traced. */
    span: Span | null;
  }
}

/**
 * Returns the traceparent of the request: the traceparent of its span if this process traces the request, otherwise the
 * traceparent that the caller sent.
 */
export const currentTraceparent = ({ span, headers }: Pick<FastifyRequest, 'span' | 'headers'>): string | undefined =>
  span?.traceparent ?? traceparentOf(headers['traceparent']);

/**
 * Starts the span of a request after authentication, so that requests without a valid key cause no work for the trace
 * collector.
 * @param name method and pattern of the route
 * @param route pattern of the route
 * @param since arrival of the request, in ms of `performance.now()`
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

/** @param status the logged status: 499 if the client closed the connection before the response */
export const endSpan = ({ span }: FastifyRequest, status: number): void => {
  if (span === null) return;
  span.set({ 'http.response.status_code': status });
  // By OpenTelemetry's conventions, a 4xx is not an error of the server.
  span.end(status >= 500 ? String(status) : undefined);
};

/**
 * Returns a handler that runs within the span of its request. The span is not activated in a hook, because each hook
 * slows down every request. The body is read before the handler runs and outside of the span, because the connection
 * reads it without the context of the request.
 */
export const withinSpan = (tracer: Tracing, handler: RouteHandlerMethod): RouteHandlerMethod =>
  function (request, reply) {
    if (request.span === null) return handler.call(this, request, reply);
    return tracer.within([request.span], () => handler.call(this, request, reply));
  };
