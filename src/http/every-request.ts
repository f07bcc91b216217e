import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Invalid } from '../errors.js';
import { hasLastAnswer } from './errors/early-answer.js';
import type { Readiness } from '../ops/readiness.js';

/** Answers are private to the key and must not be sniffed. A route may override this. */
export const ANSWER_HEADERS = {
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
 * Why a server in front of this one could interpret the request differently: whom it is for, or where it ends. Node
 * uses the first Host, and does not decode codings before `chunked`.
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
 * Applied to every request, on either port.
 * @param refuse answers a request to an unknown route, or one that is ambiguous, with the error
 */
export const onEveryRequest = (
  instance: FastifyInstance,
  readiness: Readiness,
  refuse: (request: FastifyRequest, reply: FastifyReply, ambiguity?: Invalid) => void,
): void => {
  instance.addHook('onRequest', (request, reply, done) => {
    // Bytes that look like a request behind a rejected body are not processed: their answer would never arrive.
    const { socket } = request.raw;
    if (socket.destroyed || hasLastAnswer(socket)) return;
    void reply.header('x-request-id', request.id).headers(ANSWER_HEADERS);
    if (readiness.stopping) void reply.header('connection', 'close');
    const ambiguity = ambiguityOf(request.raw);
    if (ambiguity === undefined) return request.is404 ? refuse(request, reply) : done();
    void reply.header('connection', 'close');
    refuse(request, reply, new Invalid(ambiguity));
  });
};
