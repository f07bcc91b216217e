import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { openConnections } from './open-connections.js';

/** The least that a client must read of an answer that waits for it, over each window. */
export interface ReadingRate {
  readonly windowMs: number;
  readonly bytesPerSecond: number;
}

export const USUAL_RATE: ReadingRate = { windowMs: 30_000, bytesPerSecond: 8 * 1024 };
/** While waiting answers take over half of their memory. */
export const HURRIED_RATE: ReadingRate = { windowMs: 5_000, bytesPerSecond: 64 * 1024 };

const SWEEP_MS = 1_000;

/** Node's own measure of progress for socket timeouts. `writableLength` changes only when a whole answer is taken. */
interface Handle {
  /** Bytes handed to the operating system, with those that it has not taken yet. */
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}
const handleOf = (socket: Socket): Handle | null | undefined => (socket as unknown as { _handle?: Handle })._handle;

/**
 * Cuts connections whose client reads too slowly while an answer waits. Node's socket timeout would not do: each further
 * request of such a client restarts it, and so does each byte read.
 * @param onCut called for each connection cut
 * @param rate asked every second
 */
export const cutSlowReaders = (
  server: Server,
  onCut: () => void,
  rate: () => ReadingRate = () => USUAL_RATE,
  sweepMs = SWEEP_MS,
): void => {
  const open = openConnections(server);
  /** What had been taken when the window began. */
  const windows = new WeakMap<Socket, { readonly taken: number; readonly began: number }>();
  const look = (socket: Socket, now: number, { windowMs, bytesPerSecond }: ReadingRate): void => {
    const handle = socket.writableLength === 0 ? undefined : handleOf(socket);
    if (!handle || handle.writeQueueSize === 0) return void windows.delete(socket);
    const taken = handle.bytesWritten - handle.writeQueueSize;
    const window = windows.get(socket);
    if (window !== undefined && now - window.began < windowMs) return;
    if (window !== undefined && taken - window.taken < (bytesPerSecond * (now - window.began)) / 1_000) {
      onCut();
      return void socket.resetAndDestroy();
    }
    windows.set(socket, { taken, began: now });
  };
  const sweep = setInterval(() => {
    const now = performance.now();
    const least = rate();
    for (const socket of open) look(socket, now, least);
  }, sweepMs).unref();
  server.once('close', () => clearInterval(sweep));
};
