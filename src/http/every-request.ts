import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Invalid } from '../errors.js';
import { hasLastResponse } from './errors/early-response.js';
import type { Readiness } from '../ops/readiness.js';

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
