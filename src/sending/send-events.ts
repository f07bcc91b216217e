import { Backoff, pause } from '../flow/retry.js';
import {
  type IngestionEndpoint,
  placed,
  post,
  type Refusal,
  Refused,
  refusedAll,
  type Sendable,
} from './post-events.js';

/** Counts of the answered events by outcome. */
export interface Sent {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly Refusal[];
  /** Events that were accepted although they look like a mistake. */
  readonly warnings: readonly Refusal[];
}

export interface SendOptions {
  /**
   * Called after each answer with the counts so far, in order and without gaps, and the last event included. The counts
   * go on growing after the call.
   */
  readonly onProgress?: (soFar: Sent, last: Sendable) => void;
  /** Called with the `Consistency-Token` of each answered batch. The last one need not name the highest position. */
  readonly onToken?: (token: string) => void;
  /** Called with the reason when a batch is sent again. */
  readonly onRetry?: (reason: string) => void;
  readonly signal?: AbortSignal;
  /** How long one batch is sent again and again before sending stops. Milliseconds. */
  readonly patience?: number;
}

/** Sending stopped early. Answered events stay; sending them again counts once. */
export class SendingStopped extends Error {
  constructor(
    reason: string,
    /** Events answered, from the first on without gaps. */
    readonly answered: number,
  ) {
    super(reason);
  }
}

const MAX_EVENTS = 1_000;
/** Bytes per request, minus the brackets. */
const MAX_BYTES = 8 * 1024 * 1024 - 2;
/** One batch is read while another is being stored. */
const AT_ONCE = 2;
const PATIENCE_MS = 300_000;
const FIRST_BACK_OFF_MS = 200;
const MAX_BACK_OFF_MS = 5_000;

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
  const { signal, patience = PATIENCE_MS, onRetry, onToken } = options;
  const end = performance.now() + patience;
  const backoff = new Backoff(FIRST_BACK_OFF_MS, MAX_BACK_OFF_MS);
  for (;;) {
    try {
      const { status, answer, token } = await post(batch, endpoint, signal);
      if (status === 413 && batch.length > 1) {
        const half = batch.length >> 1;
        const total = new Total();
        total.add(await sendBatch(batch.slice(0, half), endpoint, options));
        total.add(await sendBatch(batch.slice(half), endpoint, options));
        return total;
      }
      if (status !== 200) return { accepted: 0, duplicates: 0, rejected: refusedAll(batch, answer), warnings: [] };
      if (token !== null) onToken?.(token);
      const { accepted = 0, duplicates = 0 } = answer;
      return {
        accepted,
        duplicates,
        rejected: placed(batch, answer.rejected),
        warnings: placed(batch, answer.warnings),
      };
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof Refused)) throw error;
      if (performance.now() > end)
        throw new Error(`gave up after ${Math.round(patience / 1_000)} s: ${error.message}`, { cause: error });
      onRetry?.(error.message);
      await pause(Math.max(error.retryAfterMs, backoff.next()), signal);
    }
  }
};

/** Counts that grow with each answer. The rejected events are added in place: copying them would be quadratic. */
class Total implements Sent {
  accepted = 0;
  duplicates = 0;
  readonly rejected: Refusal[] = [];
  readonly warnings: Refusal[] = [];

  add({ accepted, duplicates, rejected, warnings }: Sent): void {
    this.accepted += accepted;
    this.duplicates += duplicates;
    for (const refusal of rejected) this.rejected.push(refusal);
    for (const warning of warnings) this.warnings.push(warning);
  }
}

export const answeredOf = ({ accepted, duplicates, rejected }: Sent): number => accepted + duplicates + rejected.length;

/**
 * Sends events to the ingestion endpoint in batches, each until it is answered. Event ids are fixed, so a batch whose
 * answer was lost counts once however often it is sent.
 * @throws SendingStopped if retrying would not help, the endpoint has not answered for too long, or the signal aborts
 */
export const sendEvents = async (
  events: Iterable<Sendable> | AsyncIterable<Sendable>,
  endpoint: IngestionEndpoint,
  options: SendOptions = {},
): Promise<Sent> => {
  const soFar = new Total();
  const underWay: { readonly batch: readonly Sendable[]; readonly sent: Promise<Sent> }[] = [];
  const settleOne = async (): Promise<void> => {
    const { batch, sent } = underWay.shift()!;
    soFar.add(await sent);
    options.onProgress?.(soFar, batch.at(-1)!);
  };
  try {
    for await (const batch of toBatches(events)) {
      const sent = sendBatch(batch, endpoint, options);
      // The batch before it may fail first; then that error is reported.
      sent.catch(() => undefined);
      underWay.push({ batch, sent });
      if (underWay.length === AT_ONCE) await settleOne();
    }
    while (underWay.length > 0) await settleOne();
    return { ...soFar };
  } catch (error) {
    await Promise.allSettled(underWay.map(({ sent }) => sent));
    const reason = options.signal?.aborted ? 'interrupted' : (error as Error).message;
    throw new SendingStopped(reason, answeredOf(soFar));
  }
};
