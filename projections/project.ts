import { parseArgs } from 'node:util';
import type { Pool } from 'pg';
import { type Config, readConfig } from '../src/runtime/config.js';
import { exitWith } from '../src/runtime/exit.js';
import { openDatabase } from '../src/postgres/embedded/embedded-postgres.js';
import type { EventLog } from '../src/event-log/event-log.js';
import { openEventLog } from '../src/event-log/open-event-log.js';
import { createLogger, tellThrough } from '../src/runtime/logger.js';
import type { Lanes } from '../src/ops/lanes.js';
import { WorkerOps } from '../src/ops/worker-ops.js';
import { createWatchPool } from '../src/read-models/pools.js';
import { createPool } from '../src/postgres/pool.js';
import { HeldLanes, Lease } from '../src/read-models/leases/lease.js';
import { prepareTables } from '../src/read-models/prepare-tables.js';
import { notifySupervisor, shutdownSignal } from '../src/runtime/lifecycle.js';
import { type Lane, LANES } from './registry.js';
import type { Tell } from '../src/runtime/log-line.js';
import { asConfigError } from '../src/postgres/unusable-database.js';
import { rebuildOutdated } from './engine/rebuild.js';
import { Projector } from './engine/projector.js';

/** A batch may take longer than a request. ms */
const LIMITS = { statement_timeout: 15_000, query_timeout: 16_000 };

interface Means {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly say: Tell;
  readonly warn: (line: string) => void;
  readonly lanes: Lanes;
}

/** Projects a lane whenever this process holds its lease, until `stop` aborts. */
const projectLane = async (
  { name, projections }: Lane,
  lease: Lease,
  { pool, log, say, warn, lanes }: Means,
  stop: AbortSignal,
): Promise<void> => {
  while (!stop.aborted) {
    await lease.acquire(stop, () => lanes.turned(name, false));
    if (stop.aborted) break;
    const onTurn = (): void => lanes.turned(name, true);
    onTurn();
    say(`Lease acquired; projecting ${name}`);
    const turn = new AbortController();
    const signal = AbortSignal.any([stop, turn.signal]);
    const endTurn = (): void => turn.abort();
    // Whichever ends first, by losing the lease or by an error, ends the other.
    await Promise.all([
      lease.hold(endTurn, signal).finally(endTurn),
      new Projector(log, pool, projections, warn, undefined, say, onTurn).run(signal).finally(endTurn),
      rebuildOutdated({ pool, log }, projections, { say, warn }, signal),
    ]);
    await lease.release().catch(() => {});
    if (!stop.aborted) say(`Another projector takes over ${name}; standing by`);
  }
};

/** Projects in every lane that no other projector works in; an error in one ends them all. */
const project = async (means: Means, asked: AbortSignal): Promise<void> => {
  const held = new HeldLanes(LANES.map(({ name }) => name));
  const failed = new AbortController();
  const stop = AbortSignal.any([asked, failed.signal]);
  await Promise.all(
    LANES.map(async (lane) => {
      const lease = new Lease(means.pool, lane.name, means.warn, held, means.say);
      await projectLane(lane, lease, means, stop).finally(() => failed.abort());
    }),
  );
};

const run = async (config: Config, asked: AbortSignal): Promise<void> => {
  const say = tellThrough(createLogger(config), 'projector');
  const warn = (line: string): void => say(line, 'warn');
  const ops = new WorkerOps(say, asked);
  if (config.projectorOpsPort !== undefined)
    await ops.listen(config.opsHost, config.projectorOpsPort, 'PROJECTOR_OPS_PORT');
  const database = await openDatabase(config, say);
  const { url } = database;
  const pool = createPool(url, ({ message }) => warn(`A database connection was lost: ${message}`), LIMITS);
  const watchPool = createWatchPool(url);
  try {
    const opened = { ...config, databaseUrl: url };
    await prepareTables(opened, say, asked);
    asked.throwIfAborted();
    const log = await openEventLog(opened);
    try {
      ops.begin(log, watchPool, 'projections');
      notifySupervisor({});
      await project({ pool, log, say, warn, lanes: ops.lanes }, asked);
    } finally {
      await log.close();
    }
  } finally {
    await Promise.all([pool.end(), watchPool.end()]);
    await database.release();
    // Last, so that it says to the end that the process is stopping.
    await ops.close();
  }
};

const asked = shutdownSignal();
try {
  // Rejects arguments: somebody who passes them expects something else to run.
  parseArgs();
  await run(readConfig(), asked);
  process.exit(0);
} catch (error) {
  exitWith(asConfigError(error), asked, {
    context: 'projector',
    unbegun: 'projected',
    sentenceOf: (other) => `The projector failed: ${other instanceof Error ? other.message : String(other)}`,
  });
}
