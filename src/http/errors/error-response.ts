import { HttpException, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  Conflict,
  Forbidden,
  Invalid,
  MethodNotAllowed,
  Gone,
  NotFound,
  type Rejection,
  RequestTimeout,
  TooManyRequests,
  Unauthorized,
  Unavailable,
  Unprocessable,
  UriTooLong,
} from '../../errors.js';
import { requestLine, throttled } from '../request-line.js';
import { letAnswerArrive } from './early-answer.js';
import type { ErrorBody } from './error-body.dto.js';
import { ERROR_CODES } from './error-codes.js';

export const ROUTE_NOT_FOUND = 'Route not found';

/** Messages for errors of Fastify and Node, whose own would expose the implementation. */
const SENTENCES: Readonly<Record<number, string>> = {
  400: 'The request could not be read',
  405: 'Method not allowed',
  408: 'The request did not arrive in time',
  413: 'The body is too large',
  414: 'The URL exceeds 8,192 bytes',
  415: 'The body must be sent as Content-Type: application/json',
  431: 'The headers are larger than 16 KiB',
  500: 'Internal error',
};

/** For routes that take the body as raw bytes. */
const EVENTS_EXPECTED =
  'Send application/cloudevents-batch+json, application/cloudevents+json, or application/json with ce- headers, in UTF-8';

/** Fastify's own codes, if the status alone would say too little. */
const FASTIFY_SENTENCES: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'Body length does not match Content-Length',
  FST_ERR_BAD_URL: 'The URL has an invalid percent escape',
};

export const errorBody = (
  status: number,
  message = SENTENCES[status] ?? 'Error',
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

/** RFC 9110 requires a challenge with each 401. No scheme is registered for API keys; this name is common. */
const CHALLENGE = { 'www-authenticate': 'ApiKey realm="threat-protection"' };
/** Sent with a repeated answer to an `Idempotency-Key`. */
export const REPLAYED = { 'idempotent-replayed': 'true' };

const retryAfter = (seconds: number): Record<string, string> => ({ 'retry-after': String(seconds) });

/** The original error. Fastify's errors arrive both wrapped in Nest's exceptions and bare. */
const unwrapped = (error: unknown): unknown =>
  error instanceof HttpException && error.cause instanceof Error ? error.cause : error;

const isFastifyError = (error: unknown): error is Error & { code: string; statusCode: number } =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' && 'code' in error;

const toResponse = (thrown: unknown): ErrorResponse => {
  const error = unwrapped(thrown);
  if (error instanceof Invalid)
    return { status: 400, message: error.message, issues: error.issues, rejected: error.rejected };
  if (error instanceof Unauthorized) return { status: 401, message: error.message, headers: CHALLENGE };
  if (error instanceof Forbidden) return { status: 403, message: error.message };
  if (error instanceof NotFound) return { status: 404, message: error.message };
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
    return { status: error.statusCode, message: FASTIFY_SENTENCES[error.code] };
  if (error instanceof HttpException && error.getStatus() < 500)
    // Nest's own 404 repeats the URL; this service's errors are the named ones above.
    return { status: error.getStatus(), message: error.getStatus() === 404 ? ROUTE_NOT_FOUND : error.message };
  return { status: 500 };
};

/** Headers that describe an answer, which a handler may have set before it failed. */
const OF_ANSWER = [
  'content-type',
  'content-encoding',
  'content-disposition',
  'etag',
  'consistency-token',
  'preference-applied',
];

const logger = new Logger('http');

/** While the database is unavailable, thousands of requests per second would log the same. */
const warn = throttled((line) => logger.warn(line));

const log = (status: number, error: unknown, request: FastifyRequest): void => {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const text = cause instanceof Error ? (status === 500 && cause.stack) || cause.message : String(cause);
  const line = requestLine(request, `answered ${status}`, request.id, text);
  if (status === 500) logger.error(line);
  else warn(line);
};

/** Answers a request with an error; the only place that maps errors to statuses. */
export const sendError = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
  const { status, message, issues, rejected, headers } = toResponse(error);
  if (status >= 500) log(status, error, request);
  if (reply.sent) return;
  letAnswerArrive(request.raw, reply);
  for (const name of OF_ANSWER) reply.removeHeader(name);
  if (headers) void reply.headers(headers);
  const sentence = status === 415 && request.access?.rawBody === true ? EVENTS_EXPECTED : undefined;
  void reply.code(status).send({ ...errorBody(status, message ?? sentence, issues), rejected });
};
