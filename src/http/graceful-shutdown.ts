import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Readiness } from './ops/readiness.js';

/** Long enough for a balancer, or a client with an open connection, to learn that it should go elsewhere. */
const GRACE_MS = 500;
const MAX_MS = 9_500;

const MAX_ACCEPT_WAIT_MS = 3_000;
const SHORT_TURN_MS = 0.2;
const SWEEP_MS = 50;

/**
 * Resolves right after a short turn of the event loop in which nobody came, at the latest after a while. The kernel
 * resets the connections that wait at the door when it closes; right then there is hardly ever one.
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

const openConnections = (server: Server): ReadonlySet<Socket> => {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
};

/** Lets nobody in any more, and waits until everybody who is in has been answered. */
const drain = async (server: Server, open: ReadonlySet<Socket>): Promise<void> => {
  await acceptQueueIsEmpty(server);
  const silentUntil = performance.now() + GRACE_MS;
  const sweep = setInterval(() => {
    server.closeIdleConnections();
    // On which nothing has come yet, Node calls busy until the time limit for headers.
    if (performance.now() > silentUntil) for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  }, SWEEP_MS);
  // Not http's own close, which would end idle connections at this very moment, with a request on its way in some.
  await new Promise<unknown>((resolve) => NetServer.prototype.close.call(server, resolve));
  clearInterval(sweep);
};

/**
 * Where it is asked for: not ready, then `connection: close` on every answer, then the requests in flight, then `close`,
 * then the end of the process. It ends within 10 seconds, whatever hangs.
 * @param asked aborted by whoever asks, whose name is the reason
 * @param close ends everything; resolves when nothing is pending any more
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
    readiness.stopping = true;
    log(`${asked.reason}: answering what is under way, then ending`);
    setTimeout(() => {
      log(`Not everything ended within ${MAX_MS} ms`);
      process.exit(1);
    }, MAX_MS).unref();
    await sleep(GRACE_MS);
    try {
      await drain(server, open);
      await close();
      process.exit(0);
    } catch (error) {
      log(`Did not end well: ${(error as Error).stack}`);
      process.exit(1);
    }
  };
  if (asked.aborted) void stop();
  else asked.addEventListener('abort', () => void stop());
};
