import type { Pool } from 'pg';
import type { EventLog } from '../src/event-log/event-log.js';
import { withoutRepeats } from '../src/flow/background.js';
import { allEnded } from '../src/flow/shared-work.js';
import { type Lanes, runWorker } from '../src/ops/worker.js';
import { createWatchPool } from '../src/read-models/pools.js';
import { createPool } from '../src/postgres/pool.js';
import { Lease } from '../src/read-models/lease.js';
import { LANE, PROJECTIONS } from './registry.js';
import type { WriteLog } from '../src/runtime/log-line.js';
import { STATEMENT_TIMEOUT_MS, versionOf } from './engine/projection.js';
import { rebuildOutdated } from './engine/rebuild.js';
import { runTogether } from './engine/run-together.js';

/**
 * Timeouts in ms, longer than the defaults of `createPool`, because a batch may take longer than an API request may.
 */
const TIMEOUTS = { statement_timeout: STATEMENT_TIMEOUT_MS, query_timeout: 16_000 };

interface Dependencies {
  readonly pool: Pool;
  /**
   * Connects to the database without its pooler, because a rebuild needs one session for its whole duration. Equals
   * `pool` if `DATABASE_DIRECT_URL` is not set.
   */
  readonly direct: Pool;
  readonly log: EventLog;
  readonly say: WriteLog;
  /** Writes the same line at most once per minute. */
  readonly warn: (line: string) => void;
  readonly onRecovery: (line: string) => void;
  readonly laneHealth: Lanes;
}

/** Runs the projections whenever this process holds the lease, until `stop` aborts. */
const project = async (dependencies: Dependencies, stop: AbortSignal): Promise<void> => {
  const { pool, direct, log, say, warn, onRecovery, laneHealth } = dependencies;
  const lease = new Lease(pool, LANE, { onError: warn, onRecovery });
  while (!stop.aborted) {
    if ((await lease.acquire(stop, () => laneHealth.heartbeat(LANE, false))) === undefined) break;
    const onHeartbeat = (): void => laneHealth.heartbeat(LANE, true);
    onHeartbeat();
    say('Lease acquired; projecting');
    const leaseEnd = new AbortController();
    const signal = AbortSignal.any([stop, leaseEnd.signal]);
    const endLease = (): void => leaseEnd.abort();
    // A lost lease stops the projector, and an error of the projector stops the renewal of the lease.
    const work = [
      lease.hold(endLease, signal).finally(endLease),
      runTogether(PROJECTIONS, { pool, log, onError: warn, onRecovery, onHeartbeat }, signal).finally(endLease),
      rebuildOutdated({ pool: direct, log }, PROJECTIONS, { say, warn }, signal).catch((error: unknown) => {
        endLease();
        throw error;
      }),
    ];
    await allEnded(work).finally(() => lease.release().catch(() => {}));
    if (!stop.aborted) say('Another projector takes over; standing by');
  }
};

await runWorker({
  context: 'projector',
  name: 'The projector',
  task: 'projecting',
  portSetting: 'PROJECTOR_OPS_PORT',
  work: async ({ config, url, log, ops, writeLog: say }, stopSignal) => {
    const { write: warn, recovered } = withoutRepeats((line) => say(line, 'warn'));
    const onRecovery = (line: string): void => {
      recovered();
      say(line);
    };
    const openPool = (at: string): Pool =>
      createPool(at, ({ message }) => warn(`A database connection was lost: ${message}`), TIMEOUTS);
    const pool = openPool(url);
    const direct = config.databaseDirectUrl === undefined ? pool : openPool(config.databaseDirectUrl);
    const watchPool = createWatchPool(url);
    try {
      const versions = new Map(PROJECTIONS.map((projection) => [projection.name, versionOf(projection)]));
      ops.addStores(log, watchPool, 'projections', versions);
      await project({ pool, direct, log, say, warn, onRecovery, laneHealth: ops.lanes }, stopSignal);
    } finally {
      await Promise.all([...new Set([pool, direct, watchPool])].map((each) => each.end()));
    }
  },
});
