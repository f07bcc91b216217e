import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnections } from './connections/open-connections.js';
import type { Readiness } from '../ops/readiness.js';

/** The time for load balancers and connected clients to notice the shutdown before connections are closed. */
const GRACE_MS = 500;
/**
 * How long idle connections stay open. A client that sends a request in this time gets `connection: close` with the
 * response instead of a reset. This time is shorter than the time that `npm start` waits for the API to stop.
 */
const MAX_IDLE_MS = 2_500;
const SHUTDOWN_TIMEOUT_MS = 9_500;

const MAX_ACCEPT_WAIT_MS = 3_000;
const SHORT_TURN_MS = 0.2;
const SWEEP_MS = 50;

/**
 * Resolves after a short turn of the event loop in which no connection arrived, or after a timeout. The kernel's accept
 * queue is then almost always empty. Closing the server resets the connections in the accept queue.
 */
const acceptQueueIsEmpty = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    const latest = performance.now() + MAX_ACCEPT_WAIT_MS;
    let accepted = 0;
    server.on('connection', () => accepted++);
    const check = (before: number, startedAt: number): void => {
      setImmediate(() => {
        const now = performance.now();
        const isQuiet = accepted === before && now - startedAt < SHORT_TURN_MS;
        if (isQuiet || now > latest) resolve();
        else check(accepted, now);
      });
    };
    check(-1, 0);
  });

/**
 * Stops accepting connections, and waits until all open connections are closed.
 * @param startedAt start of the shutdown, in ms of `performance.now()`
 */
const drain = async (server: Server, open: ReadonlySet<Socket>, startedAt: number): Promise<void> => {
  await acceptQueueIsEmpty(server);
  const unusedUntil = performance.now() + GRACE_MS;
  const sweep = setInterval(() => {
    const now = performance.now();
    if (now > startedAt + MAX_IDLE_MS) server.closeIdleConnections();
    // Node treats a connection without any data as active until the header timeout.
    if (now > unusedUntil) for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  }, SWEEP_MS);
  // `close` of node:http would close idle connections immediately, even if a request is arriving.
  await new Promise<unknown>((resolve) => NetServer.prototype.close.call(server, resolve));
  clearInterval(sweep);
};

/**
 * Shuts down when the stop signal aborts: reports not ready, sends `connection: close` with every response, waits for
 * requests in flight, calls `close` and exits. The process exits after 10 seconds at the latest.
 * @param stopSignal aborted to start the shutdown; its reason is logged
 * @param close closes everything else; resolves when no work is pending
 */
export const gracefulShutdown = (
  stopSignal: AbortSignal,
  server: Server,
  readiness: Readiness,
  close: () => Promise<void>,
  log: (line: string) => void,
): void => {
  const open = openConnections(server);
  const stop = async (): Promise<void> => {
    const startedAt = performance.now();
    readiness.stopping = true;
    log(`${stopSignal.reason}: finishing requests in flight, then stopping`);
    setTimeout(() => {
      log(`Shutdown did not finish within ${SHUTDOWN_TIMEOUT_MS} ms`);
      process.exit(1);
    }, SHUTDOWN_TIMEOUT_MS).unref();
    await sleep(GRACE_MS);
    try {
      await drain(server, open, startedAt);
      await close();
      process.exit(0);
    } catch (error) {
      log(`Shutdown failed: ${(error as Error).stack}`);
      process.exit(1);
    }
  };
  if (stopSignal.aborted) void stop();
  else stopSignal.addEventListener('abort', () => void stop());
};
