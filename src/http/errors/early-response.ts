import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { BODY_LIMIT } from '../byte-limits.js';

/** How many bytes of a rejected body are read and discarded: twice the largest body of any route. */
const MAX_DISCARDED_BYTES = 16 * 1024 * 1024;

/** By connection: the request whose response was sent before the body of the request had arrived. */
const respondedEarly = new WeakMap<object, IncomingMessage>();
/** Connections whose last response has been sent. */
const closing = new WeakSet();

/** Whether no further response may be sent on the connection, because the client would match it to the wrong request. */
export const hasLastResponse = (socket: object): boolean =>
  closing.has(socket) || respondedEarly.get(socket)?.complete === false;

/** Reads and discards a body, up to a limit. */
const discard = (request: IncomingMessage, socket: Socket): void => {
  let left = MAX_DISCARDED_BYTES;
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
};

/**
 * Called before a request is rejected while its body may still be arriving, so that the response reaches the client. If
 * the connection were closed immediately, the kernel would reset it, and a client that sends the whole body before it
 * reads would lose the response (RFC 9112, 9.6). A short body is read to its end, and the connection stays open. A long
 * body is discarded up to 16 MiB, and then the connection is closed. The server's request timeout applies in both cases.
 */
export const letResponseArrive = (request: IncomingMessage, reply: FastifyReply): void => {
  if (request.complete) return;
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  if (coding === undefined && length === '0') return;
  const { socket } = request;
  if (coding !== undefined || Number(length) > BODY_LIMIT) void reply.header('connection', 'close');
  if (reply.getHeader('connection') === 'close') {
    closing.add(socket);
    discard(request, socket);
  }
  respondedEarly.set(socket, request);
  // Node calls `destroySoon` after the last response on a connection.
  socket.destroySoon = () => {
    if (request.complete) Socket.prototype.destroySoon.call(socket);
    else request.once('end', () => Socket.prototype.destroySoon.call(socket));
  };
};
