import { Backoff, retry } from '../../flow/time.js';
import {
  type IngestionEndpoint,
  withPlaces,
  post,
  type EventIssues,
  TemporaryFailure,
  rejectAll,
  type Sendable,
} from './post-events.js';

/** The outcomes of the processed events. */
export interface Sent {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly EventIssues[];
  /** The issues of events that were accepted although they look like a mistake. */
  readonly warnings: readonly EventIssues[];
}

export interface SendOptions {
  /**
   * Called after each batch, in order, with the counts so far and the last event of the batch. The object with the
   * counts is not a copy: later batches change it.
   */
  readonly onProgress?: (soFar: Sent, last: Sendable) => void;
  /**
   * Called with the `Consistency-Token` of each stored batch. Batches are sent concurrently, so the token of the last
   * call is not always the one with the highest position.
   */
  readonly onToken?: (token: string) => void;
  /** Called with the reason when a batch is retried. */
  readonly onRetry?: (reason: string) => void;
  readonly signal?: AbortSignal;
  /** How long a batch is retried before sending stops. */
  readonly retryForMs?: number;
}

/** Sending stopped early. Events that were accepted remain stored; if they are sent again, they count once. */
export class SendingStopped extends Error {
  constructor(
    reason: string,
    /** The outcomes of the events before the first event that was not processed. */
    readonly sent: Sent,
  ) {
    super(reason);
  }
}

const MAX_EVENTS = 1_000;
/** Maximum size of the events of a request, in bytes, without the brackets of the list. */
const MAX_BYTES = 8 * 1024 * 1024 - 2;
/** Maximum number of concurrent requests, so that one batch is read while another is being stored. */
const MAX_IN_FLIGHT = 2;
const RETRY_FOR_MS = 300_000;
const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 5_000;

const toBatches = async function* (
  events: Iterable<Sendable> | AsyncIterable<Sendable>,
): AsyncGenerator<readonly Sendable[]> {
  let batch: Sendable[] = [];
  let bytes = 0;
  for await (const event of events) {
    const size = Buffer.byteLength(event.json) + 1;
    if (batch.length === MAX_EVENTS || (batch.length > 0 && bytes + size > MAX_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(event);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
};

const sendBatch = async (
  batch: readonly Sendable[],
  endpoint: IngestionEndpoint,
  options: SendOptions,
): Promise<Sent> => {
  const { signal, retryForMs = RETRY_FOR_MS, onRetry, onToken } = options;
  const end = performance.now() + retryForMs;
  const backoff = new Backoff(FIRST_BACKOFF_MS, MAX_BACKOFF_MS);
  const pauseAfter = (error: unknown): number | undefined => {
    signal?.throwIfAborted();
    if (!(error instanceof TemporaryFailure)) return undefined;
    if (performance.now() > end)
      throw new Error(`gave up after ${Math.round(retryForMs / 1_000)} s: ${error.message}`, { cause: error });
    onRetry?.(error.message);
    return Math.max(error.retryAfterMs, backoff.next());
  };
  const { status, result, token } = await retry(() => post(batch, endpoint, signal), pauseAfter, signal);
  if (status === 413 && batch.length > 1) {
    const half = batch.length >> 1;
    const total = new Total();
    total.add(await sendBatch(batch.slice(0, half), endpoint, options));
    total.add(await sendBatch(batch.slice(half), endpoint, options));
    return total;
  }
  if (status !== 200) return { accepted: 0, duplicates: 0, rejected: rejectAll(batch, result), warnings: [] };
  if (token !== null) onToken?.(token);
  const { accepted = 0, duplicates = 0 } = result;
  return {
    accepted,
    duplicates,
    rejected: withPlaces(batch, result.rejected),
    warnings: withPlaces(batch, result.warnings),
  };
};

/** Counts that are updated in place, because copying the rejected events for each batch would take quadratic time. */
class Total implements Sent {
  accepted = 0;
  duplicates = 0;
  readonly rejected: EventIssues[] = [];
  readonly warnings: EventIssues[] = [];

  add({ accepted, duplicates, rejected, warnings }: Sent): void {
    this.accepted += accepted;
    this.duplicates += duplicates;
    for (const issues of rejected) this.rejected.push(issues);
    for (const warning of warnings) this.warnings.push(warning);
  }
}

export const processedCount = ({ accepted, duplicates, rejected }: Sent): number =>
  accepted + duplicates + rejected.length;

/**
 * Sends events to the ingestion endpoint in batches, and retries each batch until the endpoint responds. Event ids are
 * fixed, so a batch whose response was lost counts once, however often it is sent.
 * @throws SendingStopped if a retry would not help, the endpoint has not responded for too long, or the signal aborts
 */
export const sendEvents = async (
  events: Iterable<Sendable> | AsyncIterable<Sendable>,
  endpoint: IngestionEndpoint,
  options: SendOptions = {},
): Promise<Sent> => {
  const soFar = new Total();
  const inFlight: { readonly batch: readonly Sendable[]; readonly sent: Promise<Sent> }[] = [];
  const settleOne = async (): Promise<void> => {
    const { batch, sent } = inFlight.shift()!;
    soFar.add(await sent);
    options.onProgress?.(soFar, batch.at(-1)!);
  };
  try {
    for await (const batch of toBatches(events)) {
      const sent = sendBatch(batch, endpoint, options);
      // Prevents an unhandled rejection: `settleOne` awaits the batches in order, so if an earlier batch fails, its
      // error is thrown and the error of this batch is ignored.
      sent.catch(() => undefined);
      inFlight.push({ batch, sent });
      if (inFlight.length === MAX_IN_FLIGHT) await settleOne();
    }
    while (inFlight.length > 0) await settleOne();
    return { ...soFar };
  } catch (error) {
    await Promise.allSettled(inFlight.map(({ sent }) => sent));
    const reason = options.signal?.aborted ? 'interrupted' : (error as Error).message;
    throw new SendingStopped(reason, { ...soFar });
  }
};
