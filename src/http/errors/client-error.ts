import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ConnectionError } from 'fastify';
import { errorBody } from './error-response.js';
import { hasLastAnswer } from './early-answer.js';
import { ANSWER_HEADERS } from '../every-request.js';
import { MAX_URI_LENGTH } from '../byte-limits.js';
import { requestIdOf } from '../request-id.js';
import { timedOut } from '../request-end.js';

const LINE_FEED = 10;

/** Node has one overflow error for URL and headers; the first line of the packet tells which it was. */
const overflowStatus = (packet: unknown): 414 | 431 => {
  const firstLineEnds = Buffer.isBuffer(packet) ? packet.indexOf(LINE_FEED) : 0;
  return firstLineEnds === -1 || firstLineEnds > MAX_URI_LENGTH ? 414 : 431;
};

const statusOf = ({ code, rawPacket }: ConnectionError): number => {
  if (code === 'HPE_HEADER_OVERFLOW') return overflowStatus(rawPacket);
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
};

const ALWAYS = Object.entries(ANSWER_HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

const answerRaw = (socket: Duplex, status: number, id: string = randomUUID(), headers = ''): void => {
  const body = JSON.stringify(errorBody(status));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nDate: ${new Date().toUTCString()}\r\n` +
      `X-Request-Id: ${id}\r\n${ALWAYS}Content-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n${headers}Connection: close\r\n\r\n${body}`,
    // A peer that never reads must not keep the socket open.
    () => socket.destroy(),
  );
};

/**
 * Answers bytes that Node could not parse as a request, and closes the connection: where the next request begins is
 * unknown.
 */
export const onClientError = (error: ConnectionError, socket: Duplex): void => {
  const response = (socket as { _httpMessage?: ServerResponse | null })._httpMessage;
  if (error.code === 'ECONNRESET' || !socket.writable || response?.headersSent || hasLastAnswer(socket)) {
    socket.destroy();
    return;
  }
  const status = statusOf(error);
  const id = response ? requestIdOf(response.req) : randomUUID();
  if (status === 408) timedOut(socket, id);
  // A routed request is logged with its route when its connection closes.
  if (!response) (socket as { server?: Server }).server?.emit('unreadRequest', status, id);
  answerRaw(socket, status, id);
};

/** Answers what Node would answer without a body, or not at all. */
export const handleRawNodeEvents = (server: Server): void => {
  server.on('connect', (_request, socket) => answerRaw(socket, 405, randomUUID(), 'Allow: GET, POST\r\n'));
  // Sent when the body is read, once it may be.
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
  // An unknown expectation does not invalidate the request.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
};
