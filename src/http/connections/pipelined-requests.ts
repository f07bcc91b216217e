import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Requests of one connection that may wait behind the one being answered. Few clients pipeline at all; each request held
 * takes some 10 KB besides its body.
 */
export const MAX_PIPELINED = 16;

/**
 * Cuts connections on which more requests wait behind the one being answered: Node begins each as it arrives, a thousand
 * of one packet in one turn of the event loop. What was not answered may be sent again.
 * @param onCut called for each connection cut
 */
export const limitPipelining = (server: Server, onCut: () => void, most = MAX_PIPELINED): void => {
  const waiting = new WeakMap<Socket, number>();
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    // Node assigns the socket to the response whose turn it is, nearly always at once.
    if (response.socket !== null) return;
    const count = (waiting.get(socket) ?? 0) + 1;
    waiting.set(socket, count);
    response.once('close', () => waiting.set(socket, waiting.get(socket)! - 1));
    if (count <= most || socket.destroyed) return;
    onCut();
    socket.resetAndDestroy();
  });
};
