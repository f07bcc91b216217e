import { parseArgs } from 'node:util';
import type { Pool } from 'pg';
import { type Config, readConfig } from '../src/runtime/config.js';
import { exitWith } from '../src/runtime/exit.js';
import { openDatabase } from '../src/postgres/embedded/embedded-postgres.js';
import type { EventLog } from '../src/event-log/event-log.js';
import { openEventLog } from '../src/event-log/open-event-log.js';
import { createLogger, tellThrough } from '../src/runtime/logger.js';
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

/** Projects a lane whenever this process holds its lease, until `stop` aborts. */
const projectLane = async (
  { name, projections }: Lane,
  lease: Lease,
  { pool, log, say, warn }: { pool: Pool; log: EventLog; say: Tell; warn: (line: string) => void },
  stop: AbortSignal,
): Promise<void> => {
  while (!stop.aborted) {
    await lease.acquire(stop);
    if (stop.aborted) break;
    say(`Lease acquired; projecting ${name}`);
    const turn = new AbortController();
    const signal = AbortSignal.any([stop, turn.signal]);
    const endTurn = (): void => turn.abort();
    // Whichever ends first, by losing the lease or by an error, ends the other.
    await Promise.all([
      lease.hold(endTurn, signal).finally(endTurn),
      new Projector(log, pool, projections, warn, undefined, say).run(signal).finally(endTurn),
      rebuildOutdated({ pool, log }, projections, { say, warn }, signal),
    ]);
    await lease.release().catch(() => {});
    if (!stop.aborted) say(`Another projector takes over ${name}; standing by`);
  }
};

/** Projects in every lane that no other projector works in; an error in one ends them all. */
const project = async (pool: Pool, log: EventLog, say: Tell, asked: AbortSignal): Promise<void> => {
  const warn = (line: string): void => say(line, 'warn');
  const held = new HeldLanes(LANES.map(({ name }) => name));
  const failed = new AbortController();
  const stop = AbortSignal.any([asked, failed.signal]);
  await Promise.all(
    LANES.map(async (lane) => {
      const lease = new Lease(pool, lane.name, warn, held, say);
      await projectLane(lane, lease, { pool, log, say, warn }, stop).finally(() => failed.abort());
    }),
  );
};

const run = async (config: Config, asked: AbortSignal): Promise<void> => {
  const say = tellThrough(createLogger(config), 'projector');
  const database = await openDatabase(config, say);
  const pool = createPool(
    database.url,
    ({ message }) => say(`A database connection was lost: ${message}`, 'warn'),
    LIMITS,
  );
  try {
    await prepareTables(database.url, say, asked);
    asked.throwIfAborted();
    const log = await openEventLog({ ...config, databaseUrl: database.url });
    try {
      notifySupervisor({});
      await project(pool, log, say, asked);
    } finally {
      await log.close();
    }
  } finally {
    await pool.end();
    await database.release();
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
