import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { requestLine, throttled } from './request-line.js';

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
