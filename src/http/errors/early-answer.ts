import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { BODY_LIMIT } from '../byte-limits.js';

/** Twice the largest body of any route. */
const MAX_BYTES = 16 * 1024 * 1024;

/** The request on a connection that was answered before its body had arrived. */
const answeredEarly = new WeakMap<object, IncomingMessage>();
/** Connections whose last answer has been sent. */
const closing = new WeakSet();

/** Whether the connection must not carry another answer: the peer would match it to the wrong request. */
export const hasLastAnswer = (socket: object): boolean =>
  closing.has(socket) || answeredEarly.get(socket)?.complete === false;

/** Reads and discards a body. Reading starts now, because Node does not count bytes that nobody consumes. */
const discard = (request: IncomingMessage, socket: Socket): void => {
  let left = MAX_BYTES;
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
};

/**
 * Called before a request is rejected whose body may still be arriving, so that the answer reaches the client. If the
 * connection were closed at once, the kernel would reset it, and a client that writes everything before it reads would
 * lose the answer (RFC 9112, 9.6). A short body is read to its end and the connection kept; any other is discarded up
 * to 16 MiB, then the connection is closed. The server's request timeout applies to both.
 */
export const letAnswerArrive = (request: IncomingMessage, reply: FastifyReply): void => {
  if (request.complete) return;
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  if (coding === undefined && length === '0') return;
  const { socket } = request;
  if (coding !== undefined || Number(length) > BODY_LIMIT) void reply.header('connection', 'close');
  if (reply.getHeader('connection') === 'close') {
    closing.add(socket);
    discard(request, socket);
  }
  answeredEarly.set(socket, request);
  // Node calls this after the last answer on a connection.
  socket.destroySoon = () => {
    if (request.complete) Socket.prototype.destroySoon.call(socket);
    else request.once('end', () => Socket.prototype.destroySoon.call(socket));
  };
};
