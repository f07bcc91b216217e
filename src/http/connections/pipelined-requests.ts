import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that may wait behind the one being answered. Few clients pipeline at all. */
export const MAX_PIPELINED = 100;

/** Node reads on at `resume`, even if the socket has been paused since; it stops at `pause` only. */
const stopReading = (socket: Socket): void => {
  if (socket.isPaused()) socket.emit('pause');
  else socket.pause();
};

/**
 * Reads a connection no further while requests of it wait behind the one being answered: what they are stays with their
 * sender. Cuts it if more wait than that, which one packet may hold: a thousand, in one turn of the event loop. What
 * was not answered may be sent again.
 * @param onCut called for each connection cut
 */
export const limitPipelining = (server: Server, onCut: () => void, most = MAX_PIPELINED): void => {
  const waiting = new WeakMap<Socket, number>();
  const count = (socket: Socket): number => waiting.get(socket) ?? 0;
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    // Node assigns the socket to the response whose turn it is, nearly always at once.
    if (response.socket !== null) return;
    // Node resumes it at the end of every request.
    if (!waiting.has(socket)) socket.on('resume', () => count(socket) > 0 && stopReading(socket));
    waiting.set(socket, count(socket) + 1);
    if (count(socket) === 1) stopReading(socket);
    response.once('socket', () => {
      waiting.set(socket, count(socket) - 1);
      if (count(socket) === 0) socket.resume();
    });
    if (count(socket) <= most || socket.destroyed) return;
    onCut();
    socket.resetAndDestroy();
  });
};

/**
 * Begins a request once the operating system has taken the answers before it on its connection, and parses nothing of it
 * until then: whoever sends many and reads no answers has one under way, not all.
 */
export const afterAnswersBefore = (response: ServerResponse, begin: () => void): void => {
  if (response.socket === null) response.once('socket', begin);
  else begin();
};
