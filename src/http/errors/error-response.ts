import { HttpException, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  Conflict,
  Forbidden,
  Invalid,
  NotFound,
  type Rejection,
  Unauthorized,
  Unavailable,
  Unprocessable,
} from '../../errors.js';
import { asUnavailable } from '../../postgres/transient-errors.js';
import { letAnswerArrive } from './early-answer.js';
import type { ErrorBody } from './error-body.dto.js';
import { ERROR_CODES } from './error-codes.js';

export const ROUTE_NOT_FOUND = 'There is nothing at this address';

/** What is said of the errors that Fastify and Node find; their own words would be an implementation's. */
const SENTENCES: Readonly<Record<number, string>> = {
  400: 'The request could not be read',
  405: 'The method is not allowed here',
  408: 'The request did not arrive in time',
  413: 'The body is too large',
  414: 'The address is longer than 8,192 bytes',
  415: 'The body must be sent as Content-Type: application/json',
  431: 'The headers are larger than 16 KiB',
  500: 'Internal error',
};

/** Said where a route takes its body as the bytes that were sent. */
const EVENTS_EXPECTED =
  'Send application/cloudevents-batch+json, application/cloudevents+json, or application/json with ce- headers, in UTF-8';

/** Fastify's own codes where the status alone would say too little. */
const FASTIFY_SENTENCES: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body is not as long as Content-Length says',
  FST_ERR_BAD_URL: 'The address holds a percent sign that begins no escape',
};

/** Too many requests: with one key, of one organization, or from one address without a good key. */
export class TooManyRequests extends Error {
  constructor(
    readonly retryAfterSeconds: number,
    message = 'Too many requests with this key; go on after the seconds that Retry-After says',
  ) {
    super(message);
  }
}

/** The path exists, but not for this method. */
export class MethodNotAllowed extends Error {
  constructor(readonly allow: string) {
    super(`The method is not allowed here; allowed: ${allow}`);
  }
}

export class UriTooLong extends Error {}

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

/** RFC 9110 asks for a challenge with each 401. Nobody has registered a scheme for keys; this one's name is common. */
const CHALLENGE = { 'www-authenticate': 'ApiKey realm="threat-protection"' };
/** Beside an answer that is the first one to its `Idempotency-Key` again. */
export const REPLAYED = { 'idempotent-replayed': 'true' };

const retryAfter = (seconds: number): Record<string, string> => ({ 'retry-after': String(seconds) });

/** The error that the framework wrapped, or itself. Errors of Fastify arrive as Nest's exceptions and bare. */
const unwrapped = (error: unknown): unknown =>
  error instanceof HttpException && error.cause instanceof Error ? error.cause : error;

const isFastifyError = (error: unknown): error is Error & { code: string; statusCode: number } =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' && 'code' in error;

const toResponse = (thrown: unknown): ErrorResponse => {
  const error = asUnavailable(unwrapped(thrown));
  if (error instanceof Invalid)
    return { status: 400, message: error.message, issues: error.issues, rejected: error.rejected };
  if (error instanceof Unauthorized) return { status: 401, message: error.message, headers: CHALLENGE };
  if (error instanceof Forbidden) return { status: 403, message: error.message };
  if (error instanceof NotFound) return { status: 404, message: error.message };
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
  if (isFastifyError(error) && error.statusCode < 500)
    return { status: error.statusCode, message: FASTIFY_SENTENCES[error.code] };
  if (error instanceof HttpException && error.getStatus() < 500)
    // Nest's own 404 repeats the address; ours are the named errors above.
    return { status: error.getStatus(), message: error.getStatus() === 404 ? ROUTE_NOT_FOUND : error.message };
  return { status: 500 };
};

const logger = new Logger('http');

const OUTAGE_LINE_EVERY_MS = 1_000;
const outage = { nextLineAt: 0, unsaid: 0 };

const log = (status: number, error: unknown, { method, url, id }: FastifyRequest): void => {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const text = cause instanceof Error ? (status === 500 && cause.stack) || cause.message : String(cause);
  // The query is left out: it may hold what somebody took for a place to put a key.
  const path = JSON.stringify(/^[^?]*/.exec(url)![0]);
  const line = `${method} ${path} answered ${status}, request ${id}: ${text}`;
  if (status === 500) return logger.error(line);
  // While the database is away every request says the same, thousands a second.
  const now = Date.now();
  if (now < outage.nextLineAt) return void outage.unsaid++;
  logger.warn(outage.unsaid === 0 ? line : `${line} (and ${outage.unsaid} more before it)`);
  Object.assign(outage, { nextLineAt: now + OUTAGE_LINE_EVERY_MS, unsaid: 0 });
};

/** Answers a request with an error: the only place that knows which status each error is. */
export const sendError = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
  const { status, message, issues, rejected, headers } = toResponse(error);
  if (status >= 500) log(status, error, request);
  if (reply.sent) return;
  letAnswerArrive(request.raw, reply);
  // A handler may have named another media type before it failed.
  reply.removeHeader('content-type');
  if (headers) void reply.headers(headers);
  const sentence = status === 415 && request.access?.rawBody === true ? EVENTS_EXPECTED : undefined;
  void reply.code(status).send({ ...errorBody(status, message ?? sentence, issues), rejected });
};
