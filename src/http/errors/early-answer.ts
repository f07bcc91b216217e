import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { BODY_LIMIT } from '../limits.js';

/** Twice the largest body of a route. */
const MAX_BYTES = 16 * 1024 * 1024;

/** The request of a connection that was answered before its body had arrived. */
const answeredEarly = new WeakMap<object, IncomingMessage>();
/** Connections whose last answer has been given. */
const closing = new WeakSet();

/** Whether nothing may be answered on the connection now: its peer would take it for the answer to something else. */
export const hasLastAnswer = (socket: object): boolean =>
  closing.has(socket) || answeredEarly.get(socket)?.complete === false;

/** Reads a body and throws it away. Read from now on, because Node counts nothing of a body that nobody has asked for. */
const discard = (request: IncomingMessage, socket: Socket): void => {
  let left = MAX_BYTES;
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
};

/**
 * Called before a request is refused whose body may not have arrived: sees to it that the answer does. Were the
 * connection closed at once, the kernel would reset it, and a client that reads only after it has written everything
 * would find the answer gone (RFC 9112, 9.6). A short body is read to its end and the connection kept; any other is read
 * and thrown away up to 16 MiB, then the connection is closed. The server's time limit for a request holds for both.
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
  // Node calls this once the last answer of a connection has been written.
  socket.destroySoon = () => {
    if (request.complete) Socket.prototype.destroySoon.call(socket);
    else request.once('end', () => Socket.prototype.destroySoon.call(socket));
  };
};
