import type { StoredProgress } from '../../../src/webhooks/progress-sql.js';

/** The progress of an endpoint whose last delivery succeeded. */
export const NO_FAILURES: StoredProgress = {
  replay: 0,
  logId: 'log',
  position: 10,
  event: null,
  failingSince: null,
  tries: 0,
  nextAttemptAt: null,
  refused: 0,
  lastSuccessAt: null,
  lastFailure: null,
};
