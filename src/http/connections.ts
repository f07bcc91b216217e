import type { Server, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Counter, type Registry } from 'prom-client';
import { clientOf } from './access/client-address.js';
import type { Config } from '../runtime/config.js';
import { limit, limitBySetting } from '../limits.js';

/** Returns the open connections of a server. The set is updated as connections open and close. */
export const openConnections = (server: Server): ReadonlySet<Socket> => {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
};

/**
 * Limits the open connections per address. Further connections are reset without reading from them. The memory used is
 * proportional to the number of open connections.
 * @param max open connections per IPv4 address or IPv6 /64 network; 0 means no limit
 * @param onRefused called for each refused connection
 */
export const limitConnections = (server: Server, max: number, onRefused: () => void): void => {
  if (max === 0) return;
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    // Undefined if the client has already closed the connection.
    const address = socket.remoteAddress;
    if (address === undefined) return void socket.destroy();
    const client = clientOf(address);
    const count = open.get(client) ?? 0;
    if (count >= max) {
      onRefused();
      return void socket.resetAndDestroy();
    }
    open.set(client, count + 1);
    socket.once('close', () => {
      const left = open.get(client)! - 1;
      if (left === 0) open.delete(client);
      else open.set(client, left);
    });
  });
};

/**
 * How many requests of one connection may wait behind the current request. Few clients use pipelining. Each waiting
 * request takes about 10 KB, in addition to its body.
 */
const MAX_PIPELINED = limit('pipelined requests that wait', 16, 'requests', 'connection', 'connection reset');
limitBySetting('open connections', 'MAX_CONNECTIONS_PER_ADDRESS', 'connections', 'address', 'connection reset');

/**
 * Closes connections on which more than `max` requests wait behind the current request. Node starts each request when
 * it arrives, even a thousand requests of one packet in one turn of the event loop. The client may repeat requests
 * without a response. When a connection closes, Node closes only the response of the current request; the others are
 * closed here, so that everything that a request holds ends with its connection.
 * @param onClosed called for each closed connection
 */
export const limitPipelining = (server: Server, onClosed: () => void, max = MAX_PIPELINED): void => {
  const waitingOn = new WeakMap<Socket, Set<ServerResponse>>();
  const responsesOn = (socket: Socket): Set<ServerResponse> => {
    const responses = new Set<ServerResponse>();
    waitingOn.set(socket, responses);
    socket.once('close', () => {
      for (const response of responses)
        if (response.socket === null) {
          response.destroy();
          response.emit('close');
        }
    });
    return responses;
  };
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    // Node assigns the socket to the response of the current request; a waiting response has no socket.
    if (response.socket !== null) return;
    const responses = (waitingOn.get(socket) ?? responsesOn(socket)).add(response);
    response.once('close', () => responses.delete(response));
    if (responses.size <= max || socket.destroyed) return;
    onClosed();
    socket.resetAndDestroy();
  });
};

/** The minimum rate at which a client must read a waiting response, measured over each window. */
export interface ReadingRate {
  readonly windowMs: number;
  readonly bytesPerSecond: number;
}

const declareRate = (name: string, windowMs: number, bytesPerSecond: number): ReadingRate => {
  const per = `bytes a second over ${windowMs / 1_000} s, at least`;
  limit(name, bytesPerSecond, per, 'connection', 'connection reset');
  return { windowMs, bytesPerSecond };
};

export const NORMAL_RATE = declareRate('reading of a response', 30_000, 8 * 1024);
/** Applies while unread responses take more than half of the memory reserved for them. */
export const LOW_MEMORY_RATE = declareRate('reading while responses take half of their memory', 5_000, 64 * 1024);

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

/**
 * Protects a server against clients that occupy connections, and counts refused and closed connections.
 * @param isMemoryLow whether unread responses take more than half of the memory reserved for them
 */
export const guardConnections = (
  server: Server,
  config: Config,
  registry: Registry,
  isMemoryLow: () => boolean,
): void => {
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers: [registry] });
  const refused = counter(
    'threat_protection_http_connections_refused_total',
    'Connections refused because their address had reached the limit of open connections',
  );
  const stalled = counter(
    'threat_protection_http_connections_stalled_total',
    'Connections closed because the client read a waiting response too slowly',
  );
  const pipelined = counter(
    'threat_protection_http_connections_pipelined_total',
    'Connections closed because too many pipelined requests were waiting',
  );
  // Behind a proxy, all connections have the address of the proxy.
  const max = config.trustProxy.length > 0 ? 0 : config.maxConnectionsPerAddress;
  limitConnections(server, max, () => refused.inc());
  limitPipelining(server, () => pipelined.inc());
  const rate = (): ReadingRate => (isMemoryLow() ? LOW_MEMORY_RATE : NORMAL_RATE);
  closeSlowReaders(server, () => stalled.inc(), rate);
};
