import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** How long an answer may wait without the client reading a byte of it. */
export const STALLED_AFTER_MS = 30_000;
const SWEEP_MS = 1_000;

/**
 * Bytes handed to the operating system that it has not taken yet: Node's own measure of progress for socket timeouts.
 * `writableLength` changes only when a whole answer, perhaps megabytes, has been taken.
 */
const unsent = (socket: Socket): number =>
  (socket as unknown as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;

/**
 * Cuts connections whose client reads nothing while an answer waits. Node's socket timeout would not do: each further
 * request of such a client restarts it.
 * @param onCut called for each connection cut
 */
export const cutStalledReaders = (server: Server, onCut: () => void, stalledAfterMs = STALLED_AFTER_MS): void => {
  const open = new Set<Socket>();
  const waiting = new Map<Socket, { readonly unsent: number; readonly since: number }>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      waiting.delete(socket);
    });
  });
  const look = (socket: Socket, now: number): void => {
    const left = socket.writableLength === 0 ? 0 : unsent(socket);
    const before = waiting.get(socket);
    if (left === 0) waiting.delete(socket);
    else if (before?.unsent !== left) waiting.set(socket, { unsent: left, since: now });
    else if (now - before.since >= stalledAfterMs) {
      onCut();
      socket.resetAndDestroy();
    }
  };
  const sweep = setInterval(
    () => {
      const now = performance.now();
      for (const socket of open) look(socket, now);
    },
    Math.min(SWEEP_MS, stalledAfterMs / 2),
  ).unref();
  server.once('close', () => clearInterval(sweep));
};
