import { setTimeout as sleep } from 'node:timers/promises';
import { allEnded } from '../../flow/shared-work.js';
import { reportFailures } from '../../flow/background.js';
import { pause } from '../../flow/time.js';
import { WaitingRequests } from '../../flow/concurrency-limit.js';
import { Readiness } from '../../ops/readiness.js';
import { DatabaseClock } from '../../postgres/clock.js';
import { createPool } from '../../postgres/pool.js';
import { Checkpoints } from '../../read-models/checkpoints.js';
import { Lease } from '../../read-models/lease.js';
import { createRecordsPool, createWatchPool } from '../../read-models/pools.js';
import { WEBHOOKS_LANE } from '../progress-sql.js';
import { FeedIds } from '../../records/feed/feed-elements.js';
import { FeedWatch } from '../../records/feed/feed-watch.js';
import { NetworkPolicy, Destinations } from '../../egress.js';
import { Deliveries } from './deliveries.js';
import { DeliveryLog, ProgressWriter } from './progress.js';
import { Egress } from './send.js';
import { Slots } from './context.js';
import { WebhookCommands } from '../webhook-commands.js';
import { openMasterKeys } from '../secrets.js';
import { type WorkerResources, runWorker } from '../../ops/worker.js';
import { unlessStopped } from '../../runtime/lifecycle.js';

/** How long deliveries in flight may take to finish once the process has been asked to stop. */
const FINISH_TIMEOUT_MS = 4_000;

/** Delivers while this process holds the lease, until `stopSignal` aborts. */
const deliver = async (
  { config, url, log, ops, writeLog }: WorkerResources,
  stopSignal: AbortSignal,
): Promise<void> => {
  const keys = openMasterKeys(config);
  const warn = (sentence: string): void => writeLog(sentence, 'warn');
  const pool = createPool(url, ({ message }) => warn(`A database connection was lost: ${message}`), { max: 6 });
  const [records, watchPool] = [createRecordsPool(url), createWatchPool(url)];
  const databaseClock = await new DatabaseClock(watchPool).begin();
  const clock = { now: () => databaseClock.now(), pause };
  // Each endpoint waits once, and the number of endpoints is unlimited.
  const unlimited = new WaitingRequests(Number.POSITIVE_INFINITY);
  const egress = new Egress(new Destinations(new NetworkPolicy(config.webhookAllow)), config.webhookProxy);
  const shared = {
    pool,
    records,
    commands: new WebhookCommands(log, pool),
    keys,
    egress,
    clock,
    warn,
    signing: reportFailures('sign webhook deliveries', ops.registry, undefined, (line) => writeLog(line, 'error')),
    onPoll: () => ops.lanes.heartbeat(WEBHOOKS_LANE, true),
    watch: new FeedWatch(watchPool, new Readiness(), new Checkpoints(watchPool), unlimited, ops.registry),
    slots: new Slots(),
    deliveryLog: new DeliveryLog(config.accessLog),
  };
  try {
    ops.addStores(log, watchPool, 'webhooks');
    const logId = await unlessStopped(stopSignal, log.id());
    while (!stopSignal.aborted) {
      const lease = new Lease(pool, WEBHOOKS_LANE, { onError: warn, onRecovery: writeLog });
      const epoch = await lease.acquire(stopSignal, () => ops.lanes.heartbeat(WEBHOOKS_LANE, false));
      if (epoch === undefined) break;
      writeLog('Lease acquired; delivering webhooks');
      const [stop, giveUp] = [new AbortController(), new AbortController()];
      const abortAll = (): void => {
        stop.abort();
        giveUp.abort();
      };
      const finish = (): void => {
        stop.abort();
        void sleep(FINISH_TIMEOUT_MS, undefined, { ref: false }).then(() => giveUp.abort());
      };
      stopSignal.addEventListener('abort', finish);
      const writer = new ProgressWriter(pool, epoch);
      const context = {
        ...shared,
        log,
        logId,
        head: () => log.head(),
        ids: new FeedIds(logId),
        writer,
        onLeaseLost: abortAll,
        stop: stop.signal,
        giveUp: giveUp.signal,
      };
      const held = lease.hold(abortAll, stop.signal).catch((error: unknown) => {
        abortAll();
        throw error;
      });
      try {
        await allEnded([held, new Deliveries(context).run()]);
      } finally {
        stopSignal.removeEventListener('abort', finish);
        await lease.release().catch(() => {});
      }
      if (!stopSignal.aborted) writeLog('Another process delivers webhooks; standing by');
    }
  } finally {
    databaseClock.end();
    await Promise.allSettled([egress.end(), pool.end(), records.end(), watchPool.end()]);
  }
};

await runWorker({
  context: 'deliveries',
  name: 'The delivery process',
  task: 'delivering',
  portSetting: 'DELIVERIES_OPS_PORT',
  work: deliver,
});
