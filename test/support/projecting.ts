import type { Pool } from 'pg';
import type { Projection } from '../../projections/engine/projection.js';
import { Projector } from '../../projections/engine/projector.js';
import { PROJECTIONS } from '../../projections/registry.js';
import type { Batch, EventLog } from '../../src/event-log/event-log.js';

/**
 * Projects what is in a log now, and ends.
 * @returns what the projector said: nothing where all went well
 */
export const projectToHead = async (
  log: EventLog,
  pool: Pool,
  projections: readonly Projection[] = PROJECTIONS,
): Promise<string[]> => {
  const stop = new AbortController();
  const said: string[] = [];
  const head = await log.head();
  const subscribe = log.subscribe.bind(log);
  log.subscribe = async (after, onBatch, signal) => {
    const untilHead = async (batch: Batch): Promise<void> => {
      await onBatch(batch);
      if (batch.position >= head) stop.abort();
    };
    await subscribe(after, untilHead, signal);
    // A list of events ends by itself.
    stop.abort();
  };
  try {
    await new Projector(log, pool, projections, (sentence) => said.push(sentence)).run(stop.signal);
  } finally {
    log.subscribe = subscribe;
  }
  return said;
};

/**
 * Projects whatever comes, as the projector's program does.
 * @returns what ends it
 */
export const keepProjecting = (
  log: EventLog,
  pool: Pool,
  projections: readonly Projection[] = PROJECTIONS,
): (() => Promise<void>) => {
  const stop = new AbortController();
  const running = new Projector(log, pool, projections, () => {}).run(stop.signal);
  return async () => {
    stop.abort();
    await running;
  };
};
