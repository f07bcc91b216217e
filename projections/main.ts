import { parseArgs } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import type { Pool } from 'pg';
import { ConfigError, readConfig, EXIT_CONFIG } from '../src/config.js';
import { openDatabase } from '../src/postgres/embedded/embedded-postgres.js';
import type { EventLog } from '../src/event-log/event-log.js';
import { openEventLog } from '../src/event-log/open-event-log.js';
import { createLogger } from '../src/logger.js';
import { migrateReadModels } from '../src/read-models/migrate.js';
import { createPool } from '../src/postgres/pool.js';
import { prepareTables } from '../src/read-models/prepare-tables.js';
import { notifySupervisor, shutdownSignal } from '../src/lifecycle.js';
import { say as sayOnStandardError } from '../src/terminal.js';
import { PROJECTIONS } from './registry.js';
import { Lease } from './engine/lease.js';
import { Projector } from './engine/projector.js';
import { operate } from './verbs.js';

/** A batch may take longer than a request, and a recount as long as it takes. Milliseconds. */
const PROJECTOR_LIMITS = { statement_timeout: 15_000, query_timeout: 16_000 };
const NO_LIMITS = { statement_timeout: 0, query_timeout: 0, idle_in_transaction_session_timeout: 0 };

type Say = (line: string) => void;

/** Works whenever this process holds the lease, until `stop` aborts. */
const project = async (pool: Pool, log: EventLog, logger: LoggerService, stop: AbortSignal): Promise<void> => {
  const say: Say = (line) => logger.log(line, 'projector');
  const warn: Say = (line) => logger.warn(line, 'projector');
  const lease = new Lease(pool, warn);
  while (!stop.aborted) {
    await lease.acquire(stop);
    if (stop.aborted) break;
    say('The projector works');
    const turn = new AbortController();
    const signal = AbortSignal.any([stop, turn.signal]);
    const endTurn = (): void => turn.abort();
    // Whichever ends first, by losing the lease or by an error, ends the other.
    await Promise.all([
      lease.hold(endTurn, signal).finally(endTurn),
      new Projector(log, pool, PROJECTIONS, warn).run(signal).finally(endTurn),
    ]);
    if (!stop.aborted) say('Another projector has taken over; this one stands by');
  }
  await lease.release().catch(() => {});
};

const main = async (): Promise<number> => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'boolean' }, why: { type: 'string' } },
  });
  const asked = shutdownSignal();
  const config = readConfig();
  const logger = createLogger(config);
  const isProjecting = positionals.length === 0;
  const isAbandoned = (): boolean => !isProjecting && asked.aborted;
  const abandoned = new Promise<number>((resolve) => asked.addEventListener('abort', () => resolve(1)));
  const say: Say = isProjecting ? (line) => logger.log(line, 'projector') : sayOnStandardError;
  const database = await openDatabase(config, say);
  const resolved = { ...config, databaseUrl: database.url };
  const pool = createPool(
    database.url,
    ({ message }) => say(`A connection to the database broke: ${message}`),
    isProjecting ? PROJECTOR_LIMITS : NO_LIMITS,
  );
  try {
    if (isAbandoned()) return 1;
    if (isProjecting) await prepareTables(database.url, say, asked);
    else await migrateReadModels(pool);
    const log = await openEventLog(resolved);
    try {
      if (!isProjecting) return await Promise.race([operate({ pool, log }, positionals, values), abandoned]);
      notifySupervisor({});
      await project(pool, log, logger, asked);
      return 0;
    } finally {
      await log.close();
    }
  } finally {
    // A call that a signal ended may still have a statement under way; it is not waited for.
    if (!isAbandoned()) await pool.end();
    await database.release();
  }
};

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    const sentence = error instanceof Error ? error.message : String(error);
    sayOnStandardError(process.argv.length === 2 ? `The projector stops: ${sentence}` : sentence);
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : 1);
  },
);
