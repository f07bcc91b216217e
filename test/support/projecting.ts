import type { Pool } from 'pg';
import { listParked, type Parked, retryParked } from '../../projections/engine/parked.js';
import type { Projection } from '../../projections/engine/projection.js';
import { Projector } from '../../projections/engine/projector.js';
import { PROJECTIONS } from '../../projections/registry.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import type { Backoff } from '../../src/flow/time.js';
import { eventually } from './eventually.js';

/** A projector that runs in this process. */
export interface Projecting {
  /** The problems that the projector has reported so far. */
  readonly troubles: readonly string[];
  /**
   * Resolves when every projection has reached the present head of the log.
   * @throws the error that the projector ended with
   */
  reached(): Promise<void>;
  /** @throws the error that the projector ended with */
  stop(): Promise<void>;
  /** Starts the projector again, after `stop`. */
  start(): void;
}

export interface ProjectingOptions {
  /** The delays between retries. Default: those of the service. */
  readonly backoff?: Backoff;
  /** The pool that reads the checkpoints, if the projector's own pool is made to fail. */
  readonly watchedBy?: Pool;
  readonly onHeartbeat?: () => void;
}

export const startProjecting = (
  log: EventLog,
  pool: Pool,
  projections: readonly Projection[] = PROJECTIONS,
  { backoff, watchedBy = pool, onHeartbeat }: ProjectingOptions = {},
): Projecting => {
  const troubles: string[] = [];
  let stop: AbortController;
  let running: Promise<unknown>;
  let end: unknown;
  const start = (): void => {
    end = undefined;
    stop = new AbortController();
    running = new Projector(log, pool, projections, {
      onError: (sentence) => troubles.push(sentence),
      ...(backoff && { backoff }),
      ...(onHeartbeat && { onHeartbeat }),
    }).run(stop.signal);
    running.then(
      () => (end = new Error('The projector was stopped before it reached the head')),
      (error: unknown) => (end = error),
    );
  };
  start();
  const names = projections.map(({ name }) => name);
  const countAt = async (head: bigint): Promise<number> => {
    const text = 'select count(*)::int as n from read.checkpoints where projection = any($1) and position >= $2';
    return (await watchedBy.query<{ n: number }>(text, [names, head])).rows[0]!.n;
  };
  return {
    troubles,
    start,
    reached: async () => {
      const head = await log.head();
      const isThere = async (): Promise<boolean> => {
        if (end !== undefined) throw end;
        return (await countAt(head)) === names.length;
      };
      await eventually(`${names.join(', ')} at position ${head}`, isThere);
    },
    stop: async () => {
      stop.abort();
      await running;
    },
  };
};

/**
 * Runs a projector until it has reached the head of the log.
 * @returns the problems that the projector reported
 */
export const projectToHead = async (
  log: EventLog,
  pool: Pool,
  projections?: readonly Projection[],
  options?: ProjectingOptions,
): Promise<readonly string[]> => {
  const projecting = startProjecting(log, pool, projections, options);
  await projecting.reached().finally(() => projecting.stop());
  return projecting.troubles;
};

/**
 * Retries a parked event, and projects the log to its end.
 * @returns why the event stays parked; undefined if it was applied
 */
export const retryAndProject = async (
  { log, pool }: { readonly log: EventLog; readonly pool: Pool },
  projection: Projection,
  parked: Parked,
): Promise<string | undefined> => {
  const read = async (): Promise<Parked[]> =>
    (await listParked(pool, parked.event_id)).filter((one) => one.projection === projection.name);
  await retryParked(log, await read());
  await projectToHead(log, pool, [projection]);
  return (await read())[0]?.reason;
};
