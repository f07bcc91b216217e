import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Invalid } from '../errors.js';
import { hasLastAnswer } from './errors/early-answer.js';
import type { Readiness } from './ops/readiness.js';

/** Answers are for who asked, with this key, and nothing but what their type says. A route may say otherwise. */
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
 * What a server in front of us may read in another way than we do: whom the request is for, or where it ends. Node
 * takes the first Host, and unpacks nothing of what a coding before `chunked` has packed.
 */
const ambiguityOf = ({ headers, rawHeaders, httpVersion }: IncomingMessage): string | undefined => {
  // Refused by us, because Node's own refusal has no body.
  if (headers.host === undefined && httpVersion !== '1.0') return 'The request has no Host header';
  if (hasSeveralHosts(rawHeaders)) return 'The request has more than one Host header';
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
    return 'Transfer-Encoding may be chunked, with no other coding';
  return undefined;
};

/**
 * What every request has in common, on whichever port.
 * @param refuse answers a request that matches no route, or that is ambiguous, as the error says
 */
export const onEveryRequest = (
  instance: FastifyInstance,
  readiness: Readiness,
  refuse: (request: FastifyRequest, reply: FastifyReply, ambiguity?: Invalid) => void,
): void => {
  instance.addHook('onRequest', (request, reply, done) => {
    // What looks like a request behind a body that was refused is not carried out: its answer would never arrive.
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
