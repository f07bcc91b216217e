import { setTimeout as sleep } from 'node:timers/promises';
import { pause } from './flow/retry.js';
import { WaitingRequests } from './flow/waiting-requests.js';
import { Readiness } from './ops/readiness.js';
import { DatabaseClock } from './postgres/clock.js';
import { createPool } from './postgres/pool.js';
import { Checkpoints } from './read-models/checkpoints/checkpoints.js';
import { Lease } from './read-models/leases/lease.js';
import { createRecordsPool, createWatchPool } from './read-models/pools.js';
import { WEBHOOKS_LANE } from './read-models/webhooks/statements.js';
import { FeedIds } from './records/feed/feed-id.js';
import { FeedWatch } from './records/feed/feed-watch.js';
import { NetworkPolicy } from './egress/network-policy.js';
import { Destinations } from './egress/destinations.js';
import { Deliveries } from './webhooks/delivery/deliveries.js';
import { DeliveryLog } from './webhooks/delivery/delivery-log.js';
import { ProgressWriter } from './webhooks/delivery/progress-writer.js';
import { Egress } from './webhooks/delivery/requests/send.js';
import { Slots } from './webhooks/delivery/slots.js';
import { WebhookCommands } from './webhooks/endpoints/webhook-commands.js';
import { openMasterKeys } from './webhooks/master-keys.js';
import { type Means, runWorker } from './worker.js';

/** What is in flight when the process is asked to stop may take this long to end. ms */
const ENDS_WITHIN_MS = 4_000;

/** Delivers whenever this process holds the lease, until `asked` aborts. */
const deliver = async ({ config, url, log, ops, tell }: Means, asked: AbortSignal): Promise<void> => {
  const keys = openMasterKeys(config);
  const warn = (sentence: string): void => tell(sentence, 'warn');
  const pool = createPool(url, ({ message }) => warn(`A database connection was lost: ${message}`), { max: 6 });
  const [records, watchPool] = [createRecordsPool(url), createWatchPool(url)];
  const databaseClock = await new DatabaseClock(watchPool).begin();
  const clock = { now: () => databaseClock.now(), pause };
  const egress = new Egress(new Destinations(new NetworkPolicy(config.webhookAllow)), config.webhookProxy);
  const shared = {
    pool,
    records,
    commands: new WebhookCommands(log, pool),
    keys,
    egress,
    clock,
    warn,
    onPoll: () => ops.lanes.turned(WEBHOOKS_LANE, true),
    watch: new FeedWatch(watchPool, new Readiness(), new Checkpoints(watchPool), new WaitingRequests(), ops.registry),
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
        log,
        logId,
        head: () => log.head(),
        ids: new FeedIds(logId),
        writer,
        onLeaseLost: lose,
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
    databaseClock.end();
    await Promise.allSettled([egress.end(), pool.end(), records.end(), watchPool.end()]);
  }
};

await runWorker({
  context: 'deliveries',
  name: 'The delivery process',
  unbegun: 'delivered',
  port: 'DELIVERIES_OPS_PORT',
  work: deliver,
});
