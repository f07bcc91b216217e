import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import { Invalid } from '../errors.js';
import { hasLastResponse } from './errors/error-response.js';
import type { Readiness } from '../ops/readiness.js';
import { requestLine, throttled } from './request-span.js';

/**
 * Headers of every response. Responses depend on the key, and must not be cached or sniffed. A route may override these
 * headers.
 */
export const DEFAULT_HEADERS = {
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
  vary: 'X-API-KEY',
};

const hasSeveralHosts = (rawHeaders: readonly string[]): boolean => {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
};

/**
 * Returns why a proxy could interpret the target or the end of the request differently than this server; undefined if
 * the request is unambiguous. Node uses the first Host header, and does not decode transfer codings before `chunked`.
 */
const ambiguityOf = ({ headers, rawHeaders, httpVersion }: IncomingMessage): string | undefined => {
  // Rejected here because Node's own rejection has no body.
  if (headers.host === undefined && httpVersion !== '1.0') return 'The request has no Host header';
  if (hasSeveralHosts(rawHeaders)) return 'The request has more than one Host header';
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
    return 'Transfer-Encoding may be chunked, with no other coding';
  return undefined;
};

/**
 * Registers the hook for every request: sets the default headers, and rejects ambiguous requests and unknown routes.
 * @param reject sends the error for an ambiguous request, or for an unknown route if `ambiguity` is undefined
 */
export const onEveryRequest = (
  instance: FastifyInstance,
  readiness: Readiness,
  reject: (request: FastifyRequest, reply: FastifyReply, ambiguity?: Invalid) => void,
): void => {
  instance.addHook('onRequest', (request, reply, done) => {
    // Bytes behind a rejected body are not processed as a request, because no response could be sent.
    const { socket } = request.raw;
    if (socket.destroyed || hasLastResponse(socket)) return;
    void reply.header('x-request-id', request.id).headers(DEFAULT_HEADERS);
    if (readiness.stopping) void reply.header('connection', 'close');
    const ambiguity = ambiguityOf(request.raw);
    if (ambiguity === undefined) return request.is404 ? reject(request, reply) : done();
    void reply.header('connection', 'close');
    reject(request, reply, new Invalid(ambiguity));
  });
};

/**
 * The client closed the connection before the response. nginx uses the same status for this case. The status appears
 * only in logs and metrics.
 */
const CLIENT_CLOSED = 499;
const TIMED_OUT = 408;

const logger = new Logger('http');
const write = throttled((line) => logger.log(line));

/** The request ids in the 408 responses to requests that timed out, by connection. */
const timeouts = new WeakMap<object, string>();

/** Records that the request of a connection got a 408 with this request id. */
export const recordTimeout = (socket: Duplex, id: string): void => void timeouts.set(socket, id);

const log = (status: number, request: FastifyRequest): void => {
  const why =
    status === TIMED_OUT ? 'its body did not arrive in time' : 'the client closed the connection before the response';
  write(requestLine(request, `ended ${status}`, timeouts.get(request.raw.socket) ?? request.id, why));
};

/**
 * Calls `count` once when a request ends, with the status of its response, with 499 if the client closed the connection
 * before the response, or with 408 if the body did not arrive in time. Fastify's onResponse does not cover the last two
 * cases, and needs two listeners per request instead of one.
 * @param count called with the status and the duration in ms
 */
export const whenEnded = (
  request: FastifyRequest,
  reply: FastifyReply,
  count: (status: number, ms: number, reply: FastifyReply) => void,
): void => {
  const startedAt = performance.now();
  const { raw } = reply;
  const { socket } = request.raw;
  // `close` is emitted once. `on` is cheaper than `once` for every request.
  raw.on('close', () => {
    const ms = performance.now() - startedAt;
    if (raw.writableFinished) return count(reply.statusCode, ms, reply);
    const status = timeouts.has(socket) ? TIMED_OUT : CLIENT_CLOSED;
    log(status, request);
    count(status, ms, reply);
  });
};

const PREFLIGHT_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET',
  'access-control-allow-headers': 'X-API-KEY, If-None-Match, Prefer',
  'access-control-max-age': '86400',
};

/** Answers a preflight: with it, a browser asks whether the script of a page may send these headers to a route. */
export const answerPreflight = (reply: FastifyReply): void => void reply.headers(PREFLIGHT_HEADERS).code(204).send();

/** The methods of each path, recorded when routes are added, because Fastify's router does not expose them. */
export class AllowedMethods {
  private readonly routes = new Map<string, { readonly path: RegExp; readonly methods: Set<string> }>();

  /** @param url a path in the syntax of the router: `/v2/groups/:id`, `/docs/*`, `/v5/hashes::search` for a colon */
  add(url: string, methods: readonly string[]): void {
    const route = this.routes.get(url) ?? { path: patternOf(url), methods: new Set() };
    for (const method of methods) route.methods.add(method);
    this.routes.set(url, route);
  }

  /** Returns the methods of a path in the format of the header `Allow`; undefined if the path is unknown. */
  methodsOf(path: string): string | undefined {
    const methods = [...this.routes.values()].filter((route) => route.path.test(path)).flatMap((r) => [...r.methods]);
    return methods.length > 0 ? [...new Set(methods)].sort().join(', ') : undefined;
  }
}

const patternOf = (url: string): RegExp =>
  new RegExp(
    `^${url
      .split('/')
      .map((part) =>
        part.startsWith(':')
          ? '[^/]+'
          : part === '*'
            ? '.*'
            : part.replaceAll('::', ':').replace(/[.*+?^${}()|[\]\\]/g, '\\$&'),
      )
      .join('/')}$`,
  );
