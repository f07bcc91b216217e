import { Projector } from '../../../projections/engine/projector.js';
import { LANES, PROJECTIONS } from '../../../projections/registry.js';
import { pause } from '../../flow/retry.js';
import { COUNT_CHECKPOINTS_AT } from '../../read-models/erasures/statements.js';
import type { Session } from '../runtime/session.js';

const POLL_MS = 100;
/** How long to wait for a projector of the service before the call projects the rest of the log itself. */
const MAX_WAIT_FOR_PROJECTOR_MS = 3_000;

/**
 * Waits until every projection has applied the log up to a position, so that no projector can still hold earlier events
 * in memory. If no projector of the service gets there, this call projects the log itself.
 */
export const awaitProjections = async ({ pool, log }: Session, position: number): Promise<void> => {
  const isReached = async (): Promise<boolean> =>
    (await COUNT_CHECKPOINTS_AT.run(pool, { position }))[0]!.reached >= PROJECTIONS.length;
  const helpAt = performance.now() + MAX_WAIT_FOR_PROJECTOR_MS;
  while (!(await isReached()) && performance.now() < helpAt) await pause(POLL_MS);
  if (await isReached()) return;
  const stop = new AbortController();
  const running = Promise.all(
    LANES.map(({ projections }) => new Projector(log, pool, projections, { onError: () => {} }).run(stop.signal)),
  );
  let failure: { readonly error: unknown } | undefined;
  running.catch((error: unknown) => (failure = { error }));
  try {
    while (failure === undefined && !(await isReached())) await pause(POLL_MS);
  } finally {
    // If the database fails meanwhile, the projectors would otherwise retry for ever, and the call would not end.
    stop.abort();
    await Promise.allSettled([running]);
  }
  await running;
};
