import { parseArgs } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import type { Pool } from 'pg';
import { ConfigError, readConfig, EXIT_CONFIG } from '../src/config.js';
import { openDatabase } from '../src/postgres/embedded/embedded-postgres.js';
import type { EventLog } from '../src/event-log/event-log.js';
import { openEventLog } from '../src/event-log/open-event-log.js';
import { createLogger } from '../src/logger.js';
import { createPool } from '../src/postgres/pool.js';
import { prepareTables } from '../src/read-models/prepare-tables.js';
import { notifySupervisor, shutdownSignal } from '../src/lifecycle.js';
import { say as sayOnStandardError } from '../src/terminal.js';
import { PROJECTIONS } from './registry.js';
import { Lease } from './engine/lease.js';
import { Projector } from './engine/projector.js';

/** A batch may take longer than a request. ms */
const LIMITS = { statement_timeout: 15_000, query_timeout: 16_000 };

type Say = (line: string) => void;

/** Projects whenever this process holds the lease, until `stop` aborts. */
const project = async (pool: Pool, log: EventLog, logger: LoggerService, stop: AbortSignal): Promise<void> => {
  const say: Say = (line) => logger.log(line, 'projector');
  const warn: Say = (line) => logger.warn(line, 'projector');
  const lease = new Lease(pool, warn);
  while (!stop.aborted) {
    await lease.acquire(stop);
    if (stop.aborted) break;
    say('Lease acquired; projecting');
    const turn = new AbortController();
    const signal = AbortSignal.any([stop, turn.signal]);
    const endTurn = (): void => turn.abort();
    // Whichever ends first, by losing the lease or by an error, ends the other.
    await Promise.all([
      lease.hold(endTurn, signal).finally(endTurn),
      new Projector(log, pool, PROJECTIONS, warn).run(signal).finally(endTurn),
    ]);
    if (!stop.aborted) say('Another projector has taken over; standing by');
  }
  await lease.release().catch(() => {});
};

const main = async (): Promise<void> => {
  // Rejects arguments: somebody who passes them expects something else to run.
  parseArgs();
  const asked = shutdownSignal();
  const config = readConfig();
  const logger = createLogger(config);
  const say: Say = (line) => logger.log(line, 'projector');
  const database = await openDatabase(config, say);
  const pool = createPool(database.url, ({ message }) => say(`A database connection was lost: ${message}`), LIMITS);
  try {
    await prepareTables(database.url, say, asked);
    const log = await openEventLog({ ...config, databaseUrl: database.url });
    try {
      notifySupervisor({});
      await project(pool, log, logger, asked);
    } finally {
      await log.close();
    }
  } finally {
    await pool.end();
    await database.release();
  }
};

main().then(
  () => process.exit(0),
  (error: unknown) => {
    sayOnStandardError(`The projector failed: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : 1);
  },
);
