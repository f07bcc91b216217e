import type { Pool } from 'pg';
import type { EventLog } from '../../src/event-log/event-log.js';
import { allEnded } from '../../src/flow/shared-work.js';
import { pause } from '../../src/flow/time.js';
import { failureText, isTransient } from '../../src/postgres/transient-errors.js';
import { readCheckpoints } from './checkpoints.js';
import type { Projection } from './projection.js';
import { Projector, type ProjectorOptions } from './projector.js';

/** How often to check whether projections have caught up with the others, and to read positions again. */
const POLL_MS = 500;

interface Dependencies extends ProjectorOptions {
  readonly pool: Pool;
  readonly log: EventLog;
}

type Positions = ReadonlyMap<string, bigint>;

/**
 * Runs projections in shared transactions until `signal` aborts. Those that are behind the others, because this version of
 * the service added them, first catch up in transactions of their own, so that the others need not wait.
 * @throws as `Projector.run`
 */
export const runTogether = async (
  projections: readonly Projection[],
  { pool, log, ...options }: Dependencies,
  signal: AbortSignal,
): Promise<void> => {
  const runUntil = (some: readonly Projection[], end: AbortSignal): Promise<void> =>
    new Projector(log, pool, some, options).run(end);
  /** @returns undefined if `end` aborts while the log or the database is unavailable */
  const positions = async (end: AbortSignal): Promise<Positions | undefined> => {
    while (!end.aborted)
      try {
        const checkpoints = await readCheckpoints(pool, log, projections);
        return new Map(checkpoints.map((each) => [each.projection, each.position]));
      } catch (error) {
        if (!isTransient(error)) throw error;
        options.onHeartbeat?.();
        options.onError(`The positions of the projections cannot be read, retrying: ${failureText(error)}`, error);
        await pause(POLL_MS, end);
      }
    return undefined;
  };
  const known = await positions(signal);
  if (known === undefined) return;
  const furthest = [...known.values()].reduce((a, b) => (a > b ? a : b));
  const behind = projections.filter(({ name }) => known.get(name)! < furthest);
  if (behind.length > 0) {
    const ahead = projections.filter((each) => !behind.includes(each));
    const caughtUp = new AbortController();
    const end = AbortSignal.any([signal, caughtUp.signal]);
    const endBoth = (): void => caughtUp.abort();
    const watch = async (): Promise<void> => {
      for (let before = known; !end.aborted;) {
        await pause(POLL_MS, end);
        const now = await positions(end);
        if (now === undefined) return;
        // Both follow the end of the log: those behind are where the others were a moment ago.
        if (behind.every(({ name }) => ahead.every((other) => now.get(name)! >= before.get(other.name)!))) endBoth();
        before = now;
      }
    };
    const work = [runUntil(behind, end), runUntil(ahead, end), watch()];
    await allEnded(work.map((each) => each.finally(endBoth)));
  }
  await runUntil(projections, signal);
};
