import type { Pool } from 'pg';
import type { EventLog } from '../src/event-log/event-log.js';
import type { Lanes } from '../src/ops/lanes.js';
import { createWatchPool } from '../src/read-models/pools.js';
import { createPool } from '../src/postgres/pool.js';
import { HeldLanes, Lease } from '../src/read-models/leases/lease.js';
import { type Lane, LANES } from './registry.js';
import { runWorker } from '../src/worker.js';
import type { WriteLog } from '../src/runtime/log-line.js';
import { rebuildOutdated } from './engine/rebuild.js';
import { Projector } from './engine/projector.js';

/** A batch may take longer than a request. ms */
const LIMITS = { statement_timeout: 15_000, query_timeout: 16_000 };

interface WorkerResources {
  readonly pool: Pool;
  /** For what needs one connection throughout. */
  readonly direct: Pool;
  readonly log: EventLog;
  readonly say: WriteLog;
  readonly warn: (line: string) => void;
  readonly lanes: Lanes;
}

/** Projects a lane whenever this process holds its lease, until `stop` aborts. */
const projectLane = async (
  { name, projections }: Lane,
  lease: Lease,
  { pool, direct, log, say, warn, lanes }: WorkerResources,
  stop: AbortSignal,
): Promise<void> => {
  while (!stop.aborted) {
    if ((await lease.acquire(stop, () => lanes.heartbeat(name, false))) === undefined) break;
    const onTurn = (): void => lanes.heartbeat(name, true);
    onTurn();
    say(`Lease acquired; projecting ${name}`);
    const turn = new AbortController();
    const signal = AbortSignal.any([stop, turn.signal]);
    const endTurn = (): void => turn.abort();
    // Whichever ends first, by losing the lease or by an error, ends the other.
    await Promise.all([
      lease.hold(endTurn, signal).finally(endTurn),
      new Projector(log, pool, projections, warn, undefined, say, onTurn).run(signal).finally(endTurn),
      rebuildOutdated({ pool: direct, log }, projections, { say, warn }, signal),
    ]);
    await lease.release().catch(() => {});
    if (!stop.aborted) say(`Another projector takes over ${name}; standing by`);
  }
};

/** Projects in every lane that no other projector works in; an error in one ends them all. */
const project = async (resources: WorkerResources, asked: AbortSignal): Promise<void> => {
  const held = new HeldLanes(LANES.map(({ name }) => name));
  const failed = new AbortController();
  const stop = AbortSignal.any([asked, failed.signal]);
  await Promise.all(
    LANES.map(async (lane) => {
      const lease = new Lease(resources.pool, lane.name, resources.warn, held, resources.say);
      await projectLane(lane, lease, resources, stop).finally(() => failed.abort());
    }),
  );
};

await runWorker({
  context: 'projector',
  name: 'The projector',
  task: 'projecting',
  port: 'PROJECTOR_OPS_PORT',
  work: async ({ config, url, log, ops, writeLog: say }, asked) => {
    const warn = (line: string): void => say(line, 'warn');
    const open = (at: string): Pool =>
      createPool(at, ({ message }) => warn(`A database connection was lost: ${message}`), LIMITS);
    const pool = open(url);
    const direct = config.databaseDirectUrl === undefined ? pool : open(config.databaseDirectUrl);
    const watchPool = createWatchPool(url);
    try {
      ops.begin(log, watchPool, 'projections');
      await project({ pool, direct, log, say, warn, lanes: ops.lanes }, asked);
    } finally {
      await Promise.all([...new Set([pool, direct, watchPool])].map((each) => each.end()));
    }
  },
});
