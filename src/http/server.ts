import { type Server, STATUS_CODES, type ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { ConnectionError, FastifyReply, FastifyRequest } from 'fastify';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { openConnections } from './connections.js';
import type { Readiness } from '../ops/readiness.js';
import { errorBody, hasLastResponse, sendError } from './errors/error-response.js';
import { DEFAULT_HEADERS, recordTimeout } from './every-request.js';
import { MAX_URI_LENGTH, BODY_LIMIT } from './byte-limits.js';
import { requestIdOf } from './request-span.js';
import type { Config } from '../runtime/config.js';
import { trustedProxies } from './access/client-address.js';
import { withoutEndSlash } from './taxii.js';
import './access/caller.js';
import { limit } from '../limits.js';

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

const LINE_FEED = 10;

/**
 * Node reports the same error for a long URL and for long headers. The first line of the packet shows which of them is
 * too long.
 */
const overflowStatus = (packet: unknown): 414 | 431 => {
  const firstLineEnds = Buffer.isBuffer(packet) ? packet.indexOf(LINE_FEED) : 0;
  return firstLineEnds === -1 || firstLineEnds > MAX_URI_LENGTH ? 414 : 431;
};

const statusOf = ({ code, rawPacket }: ConnectionError): number => {
  if (code === 'HPE_HEADER_OVERFLOW') return overflowStatus(rawPacket);
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
};

const DEFAULT_HEADER_LINES = Object.entries(DEFAULT_HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

const sendRawError = (socket: Duplex, status: number, id: string = randomUUID(), headers = ''): void => {
  const body = JSON.stringify(errorBody(status));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nDate: ${new Date().toUTCString()}\r\n` +
      `X-Request-Id: ${id}\r\n${DEFAULT_HEADER_LINES}Content-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n${headers}Connection: close\r\n\r\n${body}`,
    // A client that never reads must not keep the socket open.
    () => socket.destroy(),
  );
};

/**
 * Sends an error for bytes that Node could not parse as a request. Closes the connection, because the start of the next
 * request is unknown.
 */
const onClientError = (error: ConnectionError, socket: Duplex): void => {
  const response = (socket as { _httpMessage?: ServerResponse | null })._httpMessage;
  if (error.code === 'ECONNRESET' || !socket.writable || response?.headersSent || hasLastResponse(socket)) {
    socket.destroy();
    return;
  }
  const status = statusOf(error);
  const id = response ? requestIdOf(response.req) : randomUUID();
  if (status === 408) recordTimeout(socket, id);
  // A routed request is logged with its route when its connection closes.
  if (!response) (socket as { server?: Server }).server?.emit('unreadRequest', status, id);
  sendRawError(socket, status, id);
};

/** Handles requests that Node itself would answer without a body, or not at all. */
const handleRawNodeEvents = (server: Server): void => {
  server.on('connect', (_request, socket) => sendRawError(socket, 405, randomUUID(), 'Allow: GET, POST\r\n'));
  // The body reader sends `100 Continue` once the request has passed the checks.
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
  // An unknown expectation is ignored; the request is processed.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
};

const HEADERS_TIMEOUT_MS = limit('headers', 5_000, 'ms', 'request', '408, then the connection is closed');
const REQUEST_TIMEOUT_MS = limit('whole request', 10_000, 'ms', 'request', '408, then the connection is closed');

/** Creates the HTTP server. Timeouts are in ms. */
export const createServer = (config: Config): FastifyAdapter => {
  const adapter = new FastifyAdapter({
    logger: false,
    trustProxy: trustedProxies(config.trustProxy) ?? false,
    bodyLimit: BODY_LIMIT,
    // A parameter longer than Fastify's default limit is an unknown id, not an unknown route.
    routerOptions: { maxParamLength: 16_384 },
    rewriteUrl: (request: { readonly url?: string | undefined }) => withoutEndSlash(request.url ?? '/'),
    genReqId: requestIdOf as never,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: 72_000,
    // A hook rejects requests without a Host header, because Node's own rejection has no body.
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: 1_000, requireHostHeader: false },
    // During shutdown, requests on open connections still get a response before the connection is closed.
    return503OnClosing: false,
    clientErrorHandler: onClientError,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      void reply.header('x-request-id', request.id).headers(DEFAULT_HEADERS);
      sendError(error, request, reply);
      request.server.server.emit('unreadRequest', reply.statusCode, request.id);
    },
  });
  const instance = adapter.getInstance();
  instance.decorateRequest('caller', null);
  instance.decorateRequest('access', null);
  instance.decorateRequest('rawResponse', null);
  instance.decorateRequest('minPosition', null);
  instance.decorateRequest('bodyCharge', null);
  instance.decorateRequest('span', null);
  instance.decorateReply('bagIndex', -1);
  handleRawNodeEvents(instance.server);
  return adapter;
};
