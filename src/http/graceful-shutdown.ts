import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnections } from './connections/open-connections.js';
import type { Readiness } from '../ops/readiness.js';

/** Long enough for a load balancer, or a client with an open connection, to learn to go elsewhere. */
const GRACE_MS = 500;
/**
 * How long an open connection may be silent: its next answer tells the client to take another one, while one that is
 * closed as a request comes in is a reset. Less than `npm start` waits for the API.
 */
const SILENCE_MS = 2_500;
const MAX_MS = 9_500;

const MAX_ACCEPT_WAIT_MS = 3_000;
const SHORT_TURN_MS = 0.2;
const SWEEP_MS = 50;

/**
 * Resolves right after a turn of the event loop in which no connection arrived, or at a time limit. Closing resets the
 * connections in the kernel's accept queue; at that moment it is almost always empty.
 */
const acceptQueueIsEmpty = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    const latest = performance.now() + MAX_ACCEPT_WAIT_MS;
    let came = 0;
    server.on('connection', () => came++);
    const look = (before: number, begun: number): void => {
      setImmediate(() => {
        const now = performance.now();
        const isQuiet = came === before && now - begun < SHORT_TURN_MS;
        if (isQuiet || now > latest) resolve();
        else look(came, now);
      });
    };
    look(-1, 0);
  });

/**
 * Accepts no more connections, and waits until every open one has been answered.
 * @param begin when the process was asked to stop, ms
 */
const drain = async (server: Server, open: ReadonlySet<Socket>, begin: number): Promise<void> => {
  await acceptQueueIsEmpty(server);
  const unheardUntil = performance.now() + GRACE_MS;
  const sweep = setInterval(() => {
    const now = performance.now();
    if (now > begin + SILENCE_MS) server.closeIdleConnections();
    // Node treats a connection without any data as busy until the header timeout.
    if (now > unheardUntil) for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  }, SWEEP_MS);
  // Not http's own close, which ends idle connections at once, even with a request on the way in.
  await new Promise<unknown>((resolve) => NetServer.prototype.close.call(server, resolve));
  clearInterval(sweep);
};

/**
 * Graceful shutdown: unready, then `connection: close` on every answer, then the requests in flight, then `close`, then
 * the process ends. Takes at most 10 seconds, whatever hangs.
 * @param asked aborted to request it; its reason is logged
 * @param close ends everything else; resolves when nothing is pending
 */
export const gracefulShutdown = (
  asked: AbortSignal,
  server: Server,
  readiness: Readiness,
  close: () => Promise<void>,
  log: (line: string) => void,
): void => {
  const open = openConnections(server);
  const stop = async (): Promise<void> => {
    const begin = performance.now();
    readiness.stopping = true;
    log(`${asked.reason}: finishing requests in flight, then stopping`);
    setTimeout(() => {
      log(`Shutdown did not finish within ${MAX_MS} ms`);
      process.exit(1);
    }, MAX_MS).unref();
    await sleep(GRACE_MS);
    try {
      await drain(server, open, begin);
      await close();
      process.exit(0);
    } catch (error) {
      log(`Shutdown failed: ${(error as Error).stack}`);
      process.exit(1);
    }
  };
  if (asked.aborted) void stop();
  else asked.addEventListener('abort', () => void stop());
};
