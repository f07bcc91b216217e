import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The client closed the connection before it had its answer. nginx's status, in logs and metrics alone. */
export const CLIENT_LEFT = 499;
const TIMED_OUT = 408;

const LINE_EVERY_MS = 1_000;

const logger = new Logger('http');
const throttle = { nextLineAt: 0, unsaid: 0 };

/** The ids under which requests that did not arrive in time have been answered, by their connections. */
const answeredLate = new WeakMap<object, string>();

/** Remembers that a connection's request was answered with 408, under this id. */
export const timedOut = (socket: Duplex, id: string): void => void answeredLate.set(socket, id);

/** Clients can leave as often as they like, so a line a second says it. */
const log = (status: number, { method, url, id, raw }: FastifyRequest): void => {
  const now = performance.now();
  if (now < throttle.nextLineAt) return void throttle.unsaid++;
  // The query is left out: it may hold what somebody took for a place to put a key.
  const path = JSON.stringify(/^[^?]*/.exec(url)![0].replace(/\p{Cc}/gu, ' '));
  const why = status === TIMED_OUT ? 'its body did not arrive in time' : 'the client left before its answer';
  const more = throttle.unsaid === 0 ? '' : ` (and ${throttle.unsaid} more before it)`;
  logger.log(`${method} ${path} ended ${status}, request ${answeredLate.get(raw.socket) ?? id}: ${why}${more}`);
  Object.assign(throttle, { nextLineAt: now + LINE_EVERY_MS, unsaid: 0 });
};

/**
 * Logs a request that ends without the answer of its route, which Fastify reports to nobody: 499 where the client left,
 * 408 where its body stalled and the connection has been answered and closed.
 * @param count called with the status
 */
export const whenUnanswered = (
  request: FastifyRequest,
  reply: FastifyReply,
  count: (status: number, reply: FastifyReply) => void,
): void => {
  const { raw } = reply;
  const { socket } = request.raw;
  // Emitted once. `once` itself would cost every request more than the rest of this.
  raw.on('close', () => {
    if (raw.writableFinished) return;
    const status = answeredLate.has(socket) ? TIMED_OUT : CLIENT_LEFT;
    log(status, request);
    count(status, reply);
  });
};
