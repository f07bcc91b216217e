import type { StoredProgress } from '../../read-models/webhooks/statements.js';
import type { Answer } from './requests/answer.js';
import type { Batch, Portion } from './next-batch.js';
import { delayAfter, GIVEN_UP_AFTER, isRefusal, REFUSED_AT_MOST, retryAfterOf } from './schedule.js';

/** What an attempt leads to. */
export interface Outcome {
  readonly progress: StoredProgress;
  /** What is sent next. */
  readonly portion: Portion;
  /** The record that will not be sent again. */
  readonly setAside?: Batch['records'][number];
  /** Why the endpoint is to be disabled. */
  readonly disable?: 'gone' | 'failing';
}

export interface Attempt {
  readonly batch: Batch;
  /** When it began. ms */
  readonly at: number;
  readonly answer: Answer;
  /** Before it. */
  readonly progress: StoredProgress;
  /** Records of a delivery, at most. */
  readonly most: number;
  /** What was to be sent. */
  readonly portion: Portion;
  /** ms */
  readonly now: number;
}

const GONE = 410;

export const outcomeOf = ({ batch, at, answer, progress: before, most, portion, now }: Attempt): Outcome => {
  const { status, error } = answer;
  const fresh = { tries: 0, nextAttemptAt: null, refused: 0 };
  // After a part that was taken twice as much is tried, so that what is refused is found in few steps.
  const grown: Portion = { size: Math.min(most, 2 * portion.size) };
  if (error === undefined)
    return { progress: { ...before, ...batch.end, ...fresh, failingSince: null, lastSuccessAt: at }, portion: grown };

  const progress = { ...before, lastFailure: { at, status, error, answer: answer.text ?? '' } };
  const failingSince = progress.failingSince ?? now;
  const tries = progress.tries + 1;
  const retryAfter = retryAfterOf(answer.retryAfter, now);
  const failed = { ...progress, failingSince, tries, nextAttemptAt: now + delayAfter(tries, retryAfter) };
  const again: Portion = { ...portion, upTo: batch.end.position };
  if (status === GONE) return { progress: failed, portion: again, disable: 'gone' };
  if (now - failingSince >= GIVEN_UP_AFTER) return { progress: failed, portion: again, disable: 'failing' };
  if (!isRefusal(status)) return { progress: failed, portion: again };

  const { length } = batch.records;
  if (length > 1) {
    const nextAttemptAt = now + delayAfter(1, retryAfter);
    return { progress: { ...failed, tries: 1, nextAttemptAt }, portion: { size: Math.ceil(length / 2) } };
  }
  const refused = progress.refused + 1;
  if (refused < REFUSED_AT_MOST) return { progress: { ...failed, refused }, portion: again };
  return {
    progress: { ...progress, ...batch.end, ...fresh, failingSince },
    portion: grown,
    setAside: batch.records[0]!,
  };
};
