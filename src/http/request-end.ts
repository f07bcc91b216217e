import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { requestLine, throttled } from './request-line.js';

/** The client closed the connection before it got an answer. nginx's status; only in logs and metrics. */
const CLIENT_LEFT = 499;
const TIMED_OUT = 408;

const logger = new Logger('http');
const write = throttled((line) => logger.log(line));

/** Ids under which requests that timed out were answered, by connection. */
const answeredLate = new WeakMap<object, string>();

/** Records that a connection's request was answered with 408, under this id. */
export const timedOut = (socket: Duplex, id: string): void => void answeredLate.set(socket, id);

const log = (status: number, request: FastifyRequest): void => {
  const why = status === TIMED_OUT ? 'its body did not arrive in time' : 'the client left before it got an answer';
  write(requestLine(request, `ended ${status}`, answeredLate.get(request.raw.socket) ?? request.id, why));
};

/**
 * Reports once how a request ended: the status of its answer, 499 if the client left before it, or 408 if its body
 * stalled and the connection was answered and closed. Fastify's onResponse does not cover the last two, and needs two
 * listeners per request instead of one.
 * @param count called with the status and the duration in ms
 */
export const whenEnded = (
  request: FastifyRequest,
  reply: FastifyReply,
  count: (status: number, ms: number, reply: FastifyReply) => void,
): void => {
  const began = performance.now();
  const { raw } = reply;
  const { socket } = request.raw;
  // Emitted once. `once` itself would cost every request more than all of this.
  raw.on('close', () => {
    const ms = performance.now() - began;
    if (raw.writableFinished) return count(reply.statusCode, ms, reply);
    const status = answeredLate.has(socket) ? TIMED_OUT : CLIENT_LEFT;
    log(status, request);
    count(status, ms, reply);
  });
};
