import type { StoredProgress } from '../progress-sql.js';
import type { EndpointResponse } from './requests/response.js';
import type { Batch, BatchLimits } from './next-batch.js';
import { delayAfter, DISABLE_AFTER_MS, isRejection, MAX_REJECTIONS, retryAfterOf } from './schedule.js';

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

export interface AttemptResult {
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
  const failingSince = progress.failingSince ?? now;
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
