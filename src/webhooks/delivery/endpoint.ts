import type { RowOf } from '../../postgres/statement.js';
import { type READ_ENDPOINT, type StoredProgress } from '../../read-models/webhooks/statements.js';

/** An endpoint that is not deleted. */
export type Endpoint = RowOf<typeof READ_ENDPOINT>;

const UNTRIED = {
  parked: null,
  parkedFrom: null,
  failingSince: null,
  tries: 0,
  nextAttemptAt: null,
  refused: 0,
} as const;

/**
 * How far the deliveries to an endpoint have come.
 * @param stored undefined: they have not begun
 * @param logId of the log that is in use. Positions in another one say nothing: then everything is sent again
 */
export const progressOf = (endpoint: Endpoint, stored: StoredProgress | undefined, logId: string): StoredProgress => {
  const { replay, startAfter, startLog } = endpoint;
  if (stored?.replay === replay && stored.logId === logId) return stored;
  const position = startLog === logId && (stored === undefined || stored.replay !== replay) ? startAfter : -1;
  return { ...UNTRIED, replay, logId, position };
};

/** Once it is told again, it begins as if nothing had failed. */
export const asUntried = (progress: StoredProgress): StoredProgress => ({
  ...progress,
  failingSince: null,
  tries: 0,
  nextAttemptAt: null,
  refused: 0,
});
