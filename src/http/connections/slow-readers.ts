import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { openConnections } from './open-connections.js';

/** The minimum rate at which a client must read a waiting response, measured over each window. */
export interface ReadingRate {
  readonly windowMs: number;
  readonly bytesPerSecond: number;
}

export const NORMAL_RATE: ReadingRate = { windowMs: 30_000, bytesPerSecond: 8 * 1024 };
/** Applies while unread responses take more than half of the memory reserved for them. */
export const LOW_MEMORY_RATE: ReadingRate = { windowMs: 5_000, bytesPerSecond: 64 * 1024 };

const SWEEP_INTERVAL_MS = 1_000;

/**
 * The handle with which Node measures the progress of a socket for timeouts. `writableLength` changes only after a
 * whole response.
 */
interface Handle {
  /** Bytes given to the operating system, including the `writeQueueSize` bytes that it has not accepted yet. */
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}
const handleOf = (socket: Socket): Handle | null | undefined => (socket as unknown as { _handle?: Handle })._handle;

/**
 * Closes connections whose client reads a waiting response too slowly. Node's socket timeout is not sufficient, because
 * each further request and each byte read restart it.
 * @param onClosed called for each closed connection
 * @param rate called at each check, by default every second
 */
export const closeSlowReaders = (
  server: Server,
  onClosed: () => void,
  rate: () => ReadingRate = () => NORMAL_RATE,
  intervalMs = SWEEP_INTERVAL_MS,
): void => {
  const open = openConnections(server);
  /** The bytes accepted by the operating system when the window started. */
  const windows = new WeakMap<Socket, { readonly accepted: number; readonly startedAt: number }>();
  const check = (socket: Socket, now: number, { windowMs, bytesPerSecond }: ReadingRate): void => {
    const handle = socket.writableLength === 0 ? undefined : handleOf(socket);
    if (!handle || handle.writeQueueSize === 0) return void windows.delete(socket);
    const accepted = handle.bytesWritten - handle.writeQueueSize;
    const window = windows.get(socket);
    if (window !== undefined && now - window.startedAt < windowMs) return;
    if (window !== undefined && accepted - window.accepted < (bytesPerSecond * (now - window.startedAt)) / 1_000) {
      onClosed();
      return void socket.resetAndDestroy();
    }
    windows.set(socket, { accepted, startedAt: now });
  };
  const sweep = setInterval(() => {
    const now = performance.now();
    const minimum = rate();
    for (const socket of open) check(socket, now, minimum);
  }, intervalMs).unref();
  server.once('close', () => clearInterval(sweep));
};
