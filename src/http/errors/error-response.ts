import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HttpException, Logger, type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { BODY_LIMIT } from '../byte-limits.js';
import {
  Conflict,
  Forbidden,
  Invalid,
  MethodNotAllowed,
  NotAcceptable,
  Gone,
  NotFound,
  OrganizationIsErased,
  type Rejection,
  RequestTimeout,
  TooManyRequests,
  Unauthorized,
  Unavailable,
  Unprocessable,
  UriTooLong,
} from '../../errors.js';
import { requestLine, throttled } from '../request-span.js';
import { asTaxii, isTaxii, TAXII_CHALLENGE, TAXII_TYPE, taxiiError } from '../taxii.js';
import { type ErrorBody, ERROR_CODES } from './error-body.dto.js';

/** How many bytes of a rejected body are read and discarded: twice the largest body of any route. */
const MAX_DISCARDED_BYTES = 16 * 1024 * 1024;

/** By connection: the request whose response was sent before the body of the request had arrived. */
const respondedEarly = new WeakMap<object, IncomingMessage>();
/** Connections whose last response has been sent. */
const closing = new WeakSet();

/** Whether no further response may be sent on the connection, because the client would match it to the wrong request. */
export const hasLastResponse = (socket: object): boolean =>
  closing.has(socket) || respondedEarly.get(socket)?.complete === false;

/** Reads and discards a body, up to a limit. */
const discard = (request: IncomingMessage, socket: Socket): void => {
  let left = MAX_DISCARDED_BYTES;
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
};

/**
 * Called before a request is rejected while its body may still be arriving, so that the response reaches the client. If
 * the connection were closed immediately, the kernel would reset it, and a client that sends the whole body before it
 * reads would lose the response (RFC 9112, 9.6). A short body is read to its end, and the connection stays open. A long
 * body is discarded up to 16 MiB, and then the connection is closed. The server's request timeout applies in both cases.
 */
const letResponseArrive = (request: IncomingMessage, reply: FastifyReply): void => {
  if (request.complete) return;
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  if (coding === undefined && length === '0') return;
  const { socket } = request;
  if (coding !== undefined || Number(length) > BODY_LIMIT) void reply.header('connection', 'close');
  if (reply.getHeader('connection') === 'close') {
    closing.add(socket);
    discard(request, socket);
  }
  respondedEarly.set(socket, request);
  // Node calls `destroySoon` after the last response on a connection.
  socket.destroySoon = () => {
    if (request.complete) Socket.prototype.destroySoon.call(socket);
    else request.once('end', () => Socket.prototype.destroySoon.call(socket));
  };
};

const ROUTE_NOT_FOUND = 'Route not found';

export const routeNotFound = (): NotFound => new NotFound(ROUTE_NOT_FOUND);

/** Messages for errors of Fastify and Node, whose own messages would expose the implementation. */
const MESSAGES: Readonly<Record<number, string>> = {
  400: 'The request could not be read',
  405: 'Method not allowed',
  408: 'The request did not arrive in time',
  413: 'The chunk extensions of the body are larger than 16 KiB',
  414: 'The URL exceeds 8,192 bytes',
  415: 'The body must be sent as Content-Type: application/json',
  431: 'The headers are larger than 16 KiB',
  500: 'Internal error',
};

const EVENTS_EXPECTED =
  'Send application/cloudevents-batch+json, application/cloudevents+json, or application/json with ce- headers, in UTF-8';

/** The message for a body that the route of the request does not accept. */
const bodyMessage = (status: number, { access }: FastifyRequest): string | undefined => {
  if (status === 413) return `The body is larger than ${(access?.bodyLimit ?? BODY_LIMIT).toLocaleString('en')} bytes`;
  return status === 415 && access?.rawBody === true ? EVENTS_EXPECTED : undefined;
};

/** Messages for Fastify's error codes that are more specific than the status. */
const FASTIFY_MESSAGES: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'Body length does not match Content-Length',
  FST_ERR_BAD_URL: 'The URL has an invalid percent escape',
};

export const errorBody = (
  status: number,
  message = MESSAGES[status] ?? 'Error',
  issues: readonly string[] = [],
): ErrorBody => ({
  code: ERROR_CODES[status] ?? (status < 500 ? 'BAD_REQUEST' : 'INTERNAL_SERVER_ERROR'),
  message,
  ...(issues.length > 0 && { issues: issues.map((issue) => ({ message: issue })) }),
});

interface ErrorResponse {
  readonly status: number;
  readonly message?: string | undefined;
  readonly issues?: readonly string[];
  readonly rejected?: readonly Rejection[] | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** RFC 9110 requires a challenge with each 401. No scheme is registered for API keys; `ApiKey` is a common name. */
const CHALLENGE = { 'www-authenticate': 'ApiKey realm="threat-protection"' };
/** Headers of a repeated response to an `Idempotency-Key`. */
export const REPLAYED = { 'idempotent-replayed': 'true' };

const retryAfter = (seconds: number): Record<string, string> => ({ 'retry-after': String(seconds) });

/** Returns the original error. Some errors of Fastify arrive wrapped in an exception of Nest. */
const unwrapped = (error: unknown): unknown =>
  error instanceof HttpException && error.cause instanceof Error ? error.cause : error;

const isFastifyError = (error: unknown): error is Error & { code: string; statusCode: number } =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' && 'code' in error;

const toResponse = (thrown: unknown): ErrorResponse => {
  const error = unwrapped(thrown);
  if (error instanceof Invalid)
    return { status: 400, message: error.message, issues: error.issues, rejected: error.rejected };
  // Only a key of the erased organization gets here, in the moment before this process knows that the key is invalid.
  if (error instanceof OrganizationIsErased) return toResponse(new Unauthorized());
  if (error instanceof Unauthorized)
    return { status: 401, message: error.message, issues: error.issues, headers: CHALLENGE };
  if (error instanceof Forbidden) return { status: 403, message: error.message };
  if (error instanceof NotFound) return { status: 404, message: error.message };
  if (error instanceof NotAcceptable) return { status: 406, message: error.message };
  if (error instanceof Gone) return { status: 410, message: error.message };
  if (error instanceof Conflict)
    return { status: 409, message: error.message, ...(error.replayed && { headers: REPLAYED }) };
  if (error instanceof Unprocessable) return { status: 422, message: error.message };
  if (error instanceof Unavailable)
    return { status: 503, message: error.message, headers: retryAfter(error.retryAfterSeconds) };
  if (error instanceof TooManyRequests)
    return { status: 429, message: error.message, headers: retryAfter(error.retryAfterSeconds) };
  if (error instanceof MethodNotAllowed)
    return { status: 405, message: error.message, headers: { allow: error.allow } };
  if (error instanceof UriTooLong) return { status: 414 };
  if (error instanceof RequestTimeout) return { status: 408 };
  if (isFastifyError(error) && error.statusCode < 500)
    return { status: error.statusCode, message: FASTIFY_MESSAGES[error.code] };
  if (error instanceof HttpException && error.getStatus() < 500)
    // Only Nest's own 404 reaches this line. The message of that error would repeat the URL.
    return { status: error.getStatus(), message: error.getStatus() === 404 ? ROUTE_NOT_FOUND : error.message };
  return { status: 500 };
};

/** Headers of a successful response, which a handler may have set before it failed. */
const SUCCESS_HEADERS = [
  'content-type',
  'content-encoding',
  'content-disposition',
  'x-taxii-date-added-first',
  'x-taxii-date-added-last',
  'etag',
  'consistency-token',
  'preference-applied',
];

const logger = new Logger('http');

/** Log lines are throttled, because thousands of requests per second fail while the database is unavailable. */
const warn = throttled((line) => logger.warn(line));

const log = (status: number, error: unknown, request: FastifyRequest): void => {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const text = cause instanceof Error ? (status === 500 && cause.stack) || cause.message : String(cause);
  const line = requestLine(request, `responded with ${status}`, request.id, text);
  if (status === 500) logger.error(line);
  else warn(line);
};

/** Sends the response for an error. All errors are mapped to statuses here. */
export const sendError = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
  const { status, issues, rejected, headers, ...specific } = toResponse(error);
  const message = specific.message ?? bodyMessage(status, request);
  if (status >= 500) log(status, error, request);
  if (reply.sent) return;
  letResponseArrive(request.raw, reply);
  for (const name of SUCCESS_HEADERS) reply.removeHeader(name);
  if (headers) void reply.headers(headers);
  // RFC 9110, 15.5.16: the response to a body in another coding names the coding that is accepted.
  if (status === 415 && request.headers['content-encoding'] !== undefined) void reply.header('accept-encoding', 'gzip');
  if (isTaxii(request.url)) {
    if (status === 401) void reply.headers(TAXII_CHALLENGE);
    const text = taxiiError(status, errorBody(status, message).message, issues);
    return void asTaxii(reply).code(status).type(TAXII_TYPE).send(text);
  }
  void reply.code(status).send({ ...errorBody(status, message, issues), rejected });
};

/** Sends the error response for every error of a handler, a pipe or Fastify. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendError(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }
}
