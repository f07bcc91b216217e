import { type SpanOptions, type Span, tracing } from '../../runtime/tracing.js';
import type { EndpointResponse, Connection } from './send.js';
import type { StoredProgress } from '../progress-sql.js';
import type { Batch, BatchLimits, Content, Endpoint } from './next-batch.js';
import { signingKeys, signedHeaders, deliveryIdOf } from '../secrets.js';
import type { SendingContext } from './context.js';
import { USER_AGENT } from '../../runtime/version.js';
import { limit } from '../../limits.js';

const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** The span of a delivery. The span contains only the host of the URL, because path and query may contain secrets. */
const deliverySpan = (endpointId: string, deliveryId: string, { hostname, port, protocol }: URL): SpanOptions => ({
  name: 'POST webhook',
  kind: 'client',
  attributes: () => ({
    'http.request.method': 'POST',
    'server.address': hostname,
    'server.port': port === '' ? (PORTS[protocol] ?? 0) : Number(port),
    'url.scheme': protocol.slice(0, -1),
    'messaging.destination.name': endpointId,
    'messaging.message.id': deliveryId,
    'messaging.operation.name': 'deliver',
    'messaging.operation.type': 'send',
  }),
});

const endDeliverySpan = (span: Span, { status, error }: EndpointResponse): void => {
  if (status !== undefined) span.set({ 'http.response.status_code': status });
  span.end(error === undefined ? undefined : status === undefined ? 'no_answer' : String(status));
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The delay after the first failure, the second, and so on. The last delay repeats. */
const DELAYS_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR] as const;
/** The fraction by which a delay varies at random, so that endpoints that failed together are not retried together. */
const JITTER = 0.2;
/** The longest delay that an endpoint can request with `Retry-After`. */
const MAX_RETRY_AFTER_MS = HOUR;
/** An endpoint is disabled if every attempt has failed for this long. */
const DISABLE_AFTER_MS = limit('time without a success', 5 * 24 * HOUR, 'ms', 'webhook', 'the webhook is disabled');
/** A failure so long after the one before is a new one: nothing was to be sent meanwhile, or no process delivered. */
const MAX_FAILURE_PAUSE_MS = 3 * HOUR;
/** A record is set aside after the endpoint has rejected it this many times when it was sent alone. */
const MAX_REJECTIONS = limit('rejections of a single record', 20, 'rejections', 'webhook', 'the record is set aside');

/** Statuses with which an endpoint rejects the content itself, so that it will probably reject a retry too. */
const REJECTION_STATUSES: ReadonlySet<number | undefined> = new Set([400, 413, 422]);

const isRejection = (status: number | undefined): boolean => REJECTION_STATUSES.has(status);

/**
 * The delay after a failure, in ms: at least the delay that the endpoint requested, of which at most an hour counts.
 * @param tries failures since the last success, including this one
 * @param retryAfter the delay that the endpoint requested, in ms
 * @param random from 0 to 1
 */
export const delayAfter = (tries: number, retryAfter: number | undefined, random = Math.random()): number => {
  const delay = DELAYS_MS[Math.min(tries, DELAYS_MS.length) - 1]!;
  const withJitter = delay * (1 - JITTER + 2 * JITTER * random);
  return Math.round(Math.max(withJitter, Math.min(retryAfter ?? 0, MAX_RETRY_AFTER_MS)));
};

/**
 * Parses a `Retry-After` header, which has seconds or a date (RFC 9110, 10.2.3).
 * @param now the current time, in ms
 * @returns the delay in ms; undefined if the header is absent or invalid
 */
export const retryAfterOf = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * SECOND;
  const at = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
};

/** The consequences of a delivery attempt. */
export interface Outcome {
  readonly progress: StoredProgress;
  /** How many records to send next. */
  readonly limits: BatchLimits;
  /** The record that is skipped because the endpoint rejected it too often. */
  readonly setAside?: Batch['records'][number];
  /** The reason to disable the endpoint, if it must be disabled. */
  readonly disable?: 'gone' | 'failing';
}

interface AttemptResult {
  readonly batch: Batch;
  /** When the attempt started, in ms. */
  readonly at: number;
  readonly response: EndpointResponse;
  /** The progress before the attempt. */
  readonly progress: StoredProgress;
  /** The maximum number of records per delivery. */
  readonly maxBatch: number;
  /** The limits with which the batch was read. */
  readonly limits: BatchLimits;
  /** The current time, in ms. */
  readonly now: number;
}

const GONE = 410;

/** Decides what follows an attempt: whether the cursor moves, when the records are sent again, or the end of the webhook. */
export const outcomeOf = ({ batch, at, response, progress: before, maxBatch, limits, now }: AttemptResult): Outcome => {
  const { status, error } = response;
  const noFailures = { tries: 0, nextAttemptAt: null, refused: 0 };
  // After a rejected batch, records are sent one by one; the size doubles again with each accepted delivery.
  const doubled: BatchLimits = { size: Math.min(maxBatch, 2 * limits.size) };
  if (error === undefined)
    return {
      progress: { ...before, ...batch.end, ...noFailures, failingSince: null, lastSuccessAt: at },
      limits: doubled,
    };

  const progress = { ...before, lastFailure: { at, status, error, answer: response.text ?? '' } };
  const isContinued = before.lastFailure == null || at - before.lastFailure.at <= MAX_FAILURE_PAUSE_MS;
  const failingSince = (isContinued ? progress.failingSince : null) ?? now;
  const tries = progress.tries + 1;
  const retryAfter = retryAfterOf(response.retryAfter, now);
  const failed = { ...progress, failingSince, tries, nextAttemptAt: now + delayAfter(tries, retryAfter) };
  const retry: BatchLimits = { ...limits, upTo: batch.end.position };
  if (status === GONE) return { progress: failed, limits: retry, disable: 'gone' };
  if (now - failingSince >= DISABLE_AFTER_MS) return { progress: failed, limits: retry, disable: 'failing' };
  if (!isRejection(status)) return { progress: failed, limits: retry };

  if (batch.records.length > 1) {
    const nextAttemptAt = now + delayAfter(1, retryAfter);
    return { progress: { ...failed, tries: 1, nextAttemptAt }, limits: { size: 1 } };
  }
  const refused = progress.refused + 1;
  if (refused < MAX_REJECTIONS) return { progress: { ...failed, refused }, limits: retry };
  return {
    progress: { ...progress, ...batch.end, ...noFailures, failingSince },
    limits: doubled,
    setAside: batch.records[0]!,
  };
};

/** A request that was sent, and its response. */
export interface SentRequest {
  /** When the request was sent, in ms. */
  readonly at: number;
  readonly deliveryId: string;
  readonly response: EndpointResponse;
  readonly durationMs: number;
  /** True if nothing was sent, because it could not be signed or the operator's proxy failed. The operator is notified. */
  readonly isUnsent?: true;
}

/** Signs a body and sends it to an endpoint. */
export const post = async (
  { keys, clock, giveUp, signing, proxy }: SendingContext,
  endpoint: Endpoint,
  connection: Connection,
  { contentType, body }: Content,
): Promise<SentRequest> => {
  const at = clock.now();
  const deliveryId = deliveryIdOf(endpoint.webhookId, body);
  let secrets: Buffer[];
  try {
    if (keys === undefined) throw new Error('WEBHOOK_MASTER_KEY_FILE is not set');
    secrets = signingKeys(keys, endpoint, at);
  } catch (error) {
    signing.failed(new Error(`webhook ${endpoint.webhookId}: ${(error as Error).message}`));
    return {
      at,
      deliveryId,
      durationMs: 0,
      isUnsent: true,
      response: { error: 'the request could not be signed; the operator has been notified' },
    };
  }
  const headers = {
    'content-type': contentType,
    'user-agent': USER_AGENT,
    ...signedHeaders(secrets, deliveryId, at, body),
  };
  const startedAt = performance.now();
  const url = new URL(endpoint.url);
  const span = tracing?.begin(deliverySpan(endpoint.webhookId, deliveryId, url));
  const traced = span === undefined ? headers : { ...headers, traceparent: span.traceparent };
  const response = await connection.send({ url, headers: traced, body }, giveUp);
  if (span !== undefined) endDeliverySpan(span, response);
  const { proxyFailure, ...shown } = response;
  const sent = { at, deliveryId, response: shown, durationMs: Math.round(performance.now() - startedAt) };
  if (proxyFailure === undefined) return sent;
  proxy.failed(new Error(proxyFailure));
  return { ...sent, isUnsent: true };
};
