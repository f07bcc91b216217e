import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * How many requests of one connection may wait behind the current request. Few clients use pipelining. Each waiting
 * request takes about 10 KB, in addition to its body.
 */
export const MAX_PIPELINED = 16;

/**
 * Closes connections on which more than `max` requests wait behind the current request. Node starts each request when
 * it arrives, even a thousand requests of one packet in one turn of the event loop. The client may repeat requests
 * without a response.
 * @param onClosed called for each closed connection
 */
export const limitPipelining = (server: Server, onClosed: () => void, max = MAX_PIPELINED): void => {
  const waiting = new WeakMap<Socket, number>();
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    // Node assigns the socket to the response of the current request; a waiting response has no socket.
    if (response.socket !== null) return;
    const count = (waiting.get(socket) ?? 0) + 1;
    waiting.set(socket, count);
    response.once('close', () => waiting.set(socket, waiting.get(socket)! - 1));
    if (count <= max || socket.destroyed) return;
    onClosed();
    socket.resetAndDestroy();
  });
};
