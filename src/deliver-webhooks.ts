import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventLog } from './event-log/event-log.js';
import { openEventLog } from './event-log/open-event-log.js';
import { pause } from './flow/retry.js';
import { Readiness } from './ops/readiness.js';
import { WorkerOps } from './ops/worker-ops.js';
import { openDatabase } from './postgres/embedded/embedded-postgres.js';
import { createPool } from './postgres/pool.js';
import { asConfigError } from './postgres/unusable-database.js';
import { Lease } from './read-models/leases/lease.js';
import { createRecordsPool, createWatchPool } from './read-models/pools.js';
import { prepareTables } from './read-models/prepare-tables.js';
import { WEBHOOKS_LANE } from './read-models/webhooks/statements.js';
import { FeedIds } from './records/feed/feed-id.js';
import { FeedWatch } from './records/feed/feed-watch.js';
import { type Config, readConfig } from './runtime/config.js';
import { exitWith } from './runtime/exit.js';
import { notifySupervisor, shutdownSignal } from './runtime/lifecycle.js';
import type { Tell } from './runtime/log-line.js';
import { createLogger, tellThrough } from './runtime/logger.js';
import { Reach } from './webhooks/address.js';
import { Destinations } from './webhooks/delivery/requests/address.js';
import { Deliveries } from './webhooks/delivery/deliveries.js';
import { DeliveryLog } from './webhooks/delivery/delivery-log.js';
import { ProgressWriter } from './webhooks/delivery/progress-writer.js';
import { Egress } from './webhooks/delivery/requests/send.js';
import { Slots } from './webhooks/delivery/slots.js';
import { WebhookCommands } from './webhooks/endpoints/webhook-commands.js';
import { openMasterKeys } from './webhooks/master-keys.js';

/** What is in flight when the process is asked to stop may take this long to end. ms */
const ENDS_WITHIN_MS = 4_000;

const clock = { now: () => Date.now(), pause };

/** Delivers whenever this process holds the lease, until `asked` aborts. */
const deliver = async (
  config: Config,
  log: EventLog,
  ops: WorkerOps,
  tell: Tell,
  asked: AbortSignal,
): Promise<void> => {
  const url = config.databaseUrl!;
  const keys = openMasterKeys(config);
  const warn = (sentence: string): void => tell(sentence, 'warn');
  const pool = createPool(url, ({ message }) => warn(`A database connection was lost: ${message}`), { max: 6 });
  const [records, watchPool] = [createRecordsPool(url), createWatchPool(url)];
  const egress = new Egress(new Destinations(new Reach(config.webhookAllow)), config.webhookProxy);
  const shared = {
    pool,
    records,
    commands: new WebhookCommands(log, pool),
    keys,
    egress,
    clock,
    warn,
    onTurn: () => ops.lanes.turned(WEBHOOKS_LANE, true),
    watch: new FeedWatch(watchPool, new Readiness()),
    slots: new Slots(),
    deliveryLog: new DeliveryLog(config.accessLog),
  };
  try {
    ops.begin(log, watchPool, 'webhooks');
    const logId = await log.id();
    while (!asked.aborted) {
      const lease = new Lease(pool, WEBHOOKS_LANE, warn, undefined, tell);
      const epoch = await lease.acquire(asked, () => ops.lanes.turned(WEBHOOKS_LANE, false));
      if (epoch === undefined) break;
      tell('Lease acquired; delivering webhooks');
      const [stop, giveUp] = [new AbortController(), new AbortController()];
      const lose = (): void => {
        stop.abort();
        giveUp.abort();
      };
      const end = (): void => {
        stop.abort();
        void sleep(ENDS_WITHIN_MS, undefined, { ref: false }).then(() => giveUp.abort());
      };
      asked.addEventListener('abort', end);
      const writer = new ProgressWriter(pool, epoch);
      const turn = {
        ...shared,
        logId,
        ids: new FeedIds(logId),
        writer,
        lose,
        stop: stop.signal,
        giveUp: giveUp.signal,
      };
      await Promise.all([
        lease.hold(lose, stop.signal).catch((error: unknown) => {
          lose();
          throw error;
        }),
        new Deliveries(turn).run(),
      ]);
      asked.removeEventListener('abort', end);
      await lease.release().catch(() => {});
      if (!asked.aborted) tell('Another process delivers webhooks; standing by');
    }
  } finally {
    await Promise.allSettled([egress.end(), pool.end(), records.end(), watchPool.end()]);
  }
};

const run = async (config: Config, asked: AbortSignal): Promise<void> => {
  const tell = tellThrough(createLogger(config), 'deliveries');
  const ops = new WorkerOps(tell, asked);
  if (config.deliveriesOpsPort !== undefined)
    await ops.listen(config.opsHost, config.deliveriesOpsPort, 'DELIVERIES_OPS_PORT');
  const database = await openDatabase(config, tell);
  try {
    const opened = { ...config, databaseUrl: database.url };
    await prepareTables(opened, tell, asked);
    asked.throwIfAborted();
    const log = await openEventLog(opened);
    try {
      notifySupervisor({});
      await deliver(opened, log, ops, tell, asked);
    } finally {
      await log.close();
    }
  } finally {
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
    context: 'deliveries',
    unbegun: 'delivered',
    sentenceOf: (other) => `The delivery process failed: ${other instanceof Error ? other.message : String(other)}`,
  });
}
