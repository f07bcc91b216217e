import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ConnectionError } from 'fastify';
import { errorBody } from './error-response.js';
import { hasLastResponse } from './early-response.js';
import { DEFAULT_HEADERS } from '../every-request.js';
import { MAX_URI_LENGTH } from '../byte-limits.js';
import { requestIdOf } from '../request-id.js';
import { recordTimeout } from '../request-end.js';

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
export const onClientError = (error: ConnectionError, socket: Duplex): void => {
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
export const handleRawNodeEvents = (server: Server): void => {
  server.on('connect', (_request, socket) => sendRawError(socket, 405, randomUUID(), 'Allow: GET, POST\r\n'));
  // The body reader sends `100 Continue` once the request has passed the checks.
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
  // An unknown expectation is ignored; the request is processed.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
};
