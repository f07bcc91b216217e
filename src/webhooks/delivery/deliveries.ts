import { setTimeout as sleep } from 'node:timers/promises';
import { allEnded } from '../../flow/shared-work.js';
import { reportFailures, withoutRepeats } from '../../flow/background.js';
import { pause, Backoff } from '../../flow/time.js';
import { WaitingRequests } from '../../flow/concurrency-limit.js';
import { Readiness } from '../../ops/readiness.js';
import { DatabaseClock } from '../../postgres/clock.js';
import { createPool } from '../../postgres/pool.js';
import { Checkpoints } from '../../read-models/checkpoints.js';
import { Lease } from '../../read-models/lease.js';
import { createRecordsPool, createWatchPool } from '../../read-models/pools.js';
import {
  WEBHOOKS_LANE,
  COMPLETE_TEST,
  LIST_PENDING_TESTS,
  DELETE_STATE_OF_DELETED_ENDPOINTS,
  REWIND_TO_END,
  TEST_TTL_MS,
} from '../progress-sql.js';
import { FeedIds } from '../../records/feed/feed-ids.js';
import { FeedWatch } from '../../records/feed/feed-watch.js';
import { NetworkPolicy, Destinations } from '../../egress.js';
import { DeliveryLog, ProgressWriter, LeaseLost } from './progress.js';
import { Egress, Connection } from './send.js';
import { Slots, type DeliveryContext } from './context.js';
import { WebhookCommands } from '../webhook-commands.js';
import { openMasterKeys } from '../secrets.js';
import { type WorkerResources, runWorker } from '../../ops/worker.js';
import { unlessStopped } from '../../runtime/lifecycle.js';
import { FEED_SOURCE, FEED_TYPE_PREFIX } from '../../events/feed-schema.js';
import { formatInstant } from '../../events/instant.js';
import type { RowOf } from '../../postgres/statement.js';
import { contentOf, type Endpoint, isFresh, LIST_CHANGED_ENDPOINTS, readEndpoint } from './next-batch.js';
import { post, type SentRequest } from './post.js';
import { failureText, isTransient } from '../../postgres/transient-errors.js';
import { EndpointDelivery } from './endpoint-delivery.js';

const testElement = ({ webhookId }: Endpoint, testId: string, now: number): string =>
  JSON.stringify({
    specversion: '1.0',
    id: testId,
    source: FEED_SOURCE,
    type: `${FEED_TYPE_PREFIX}webhook.test`,
    subject: webhookId,
    time: formatInstant(now),
    datacontenttype: 'application/json',
    data: { webhookId },
  });

/** The result as JSON, in the form that `TestResult` describes. */
const resultOf = ({ deliveryId, response: { status, error, text }, durationMs }: SentRequest): string =>
  JSON.stringify({ webhookId: deliveryId, status, error, answer: text, took: durationMs });

/**
 * Sends a requested `webhook.test` event to an endpoint in any state, and stores the response. A test does not take a
 * delivery slot, so that a client that waits for its result does not wait for unresponsive endpoints.
 * @throws LeaseLost, or the error of the database
 */
const runTest = async (
  context: DeliveryContext,
  { id, organization, endpoint: name }: RowOf<typeof LIST_PENDING_TESTS>,
): Promise<void> => {
  const { pool, clock, egress, writer, deliveryLog, giveUp } = context;
  const endpoint = await readEndpoint(pool, organization, name);
  // A test that is not sent is sent at the next poll.
  if (endpoint === undefined || !isFresh(endpoint)) return;
  const connection = new Connection(egress);
  const sent = await post(context, endpoint, connection, contentOf(endpoint, [testElement(endpoint, id, clock.now())]));
  connection.end();
  const complete = (): Promise<unknown> => COMPLETE_TEST.run(pool, { id, result: resultOf(sent) });
  if (sent.isUnsent) return void (await complete());
  const attempted = { ...sent, records: 0 };
  deliveryLog.add(endpoint, attempted);
  if (giveUp.aborted) return;
  await complete();
  await writer.storeTest(name, attempted);
};

/** Interval between polls for changed endpoints and requested tests. */
const POLL_INTERVAL_MS = 250;
const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5_000;
/** Maximum number of deleted endpoints whose rows are deleted in one statement: 100 attempts each. */
const MAX_FORGOTTEN = 20;
/** Maximum number of concurrent tests, in addition to the deliveries. */
const MAX_TESTS = 16;

interface Running {
  readonly delivery: EndpointDelivery;
  revision: number;
}

/** Runs the deliveries to all endpoints while this process holds the lease. */
export class Deliveries {
  private readonly deliveries = new Map<string, Running>();
  private readonly inFlight = new Set<Promise<void>>();
  private readonly tests = new Set<string>();
  /** The fingerprint of the list of endpoints that the deliveries correspond to; empty if the list must be read. */
  private fingerprint = '';
  /** The ids of endpoints of which the database may still have rows although they were deleted. */
  private ended: string[] = [];
  /** The end of the log when these deliveries started. */
  private endAtStart: number | undefined;

  constructor(private readonly context: DeliveryContext) {}

  /**
   * Delivers until `stop` aborts and the requests in flight have ended.
   * @throws an error of the database that is not transient
   */
  async run(): Promise<void> {
    const { pool, clock, stop, onLeaseLost, warn, onPoll } = this.context;
    const backoff = new Backoff(FIRST_BACKOFF_MS, MAX_BACKOFF_MS);
    stop.addEventListener('abort', () => this.wakeAll(), { once: true });
    try {
      while (!stop.aborted) {
        onPoll();
        try {
          await this.poll(pool);
          backoff.reset();
          await clock.pause(POLL_INTERVAL_MS, stop);
        } catch (error) {
          if (!isTransient(error)) throw error;
          warn(`Cannot read the webhooks from the database; retrying: ${failureText(error)}`);
          await clock.pause(backoff.next(), stop);
        }
      }
    } finally {
      if (!stop.aborted) onLeaseLost();
      await Promise.all(this.inFlight);
    }
  }

  private async poll(pool: DeliveryContext['pool']): Promise<void> {
    this.endAtStart ??= await this.readEnd(pool);
    const rows = await LIST_CHANGED_ENDPOINTS.run(pool, { upTo: this.endAtStart, fingerprint: this.fingerprint });
    if (rows.length > 0) this.follow(rows);
    const endpoints = this.ended.slice(0, MAX_FORGOTTEN);
    if (endpoints.length > 0) {
      await DELETE_STATE_OF_DELETED_ENDPOINTS.run(pool, { endpoints });
      this.ended.splice(0, endpoints.length);
    }
    await this.runTests(pool);
  }

  /** Starts the deliveries to new endpoints, and wakes the deliveries to changed and deleted endpoints. */
  private follow(rows: readonly RowOf<typeof LIST_CHANGED_ENDPOINTS>[]): void {
    this.fingerprint = rows[0]!.fingerprint;
    const ids = new Set(rows.map(({ id }) => id));
    for (const { organization, id, revision } of rows) {
      if (organization === null || id === null || revision === null) continue;
      const running = this.deliveries.get(id);
      if (running === undefined) this.start(organization, id, revision);
      else if (running.revision !== revision) {
        running.revision = revision;
        running.delivery.wake();
      }
    }
    for (const [id, { delivery }] of this.deliveries) if (!ids.has(id)) delivery.wake();
  }

  /**
   * Reads the end of the log, and rewinds every cursor that is beyond the end. The previous process read only events
   * that were in the log, so a cursor beyond the end is from before a restore.
   */
  private async readEnd(pool: DeliveryContext['pool']): Promise<number> {
    const end = Number(await this.context.head());
    for (let after: string | null = ''; after !== null;)
      after = (await REWIND_TO_END.run(pool, { logId: this.context.logId, end, after }))[0]!.last;
    return end;
  }

  private start(organization: string, id: string, revision: number): void {
    const delivery = new EndpointDelivery(this.context, organization, id);
    this.deliveries.set(id, { delivery, revision });
    const ended = delivery.run().finally(() => {
      this.deliveries.delete(id);
      this.ended.push(id);
      // The list may have this endpoint again with the same revision, for example after a rebuild.
      this.fingerprint = '';
    });
    this.track(ended);
  }

  private async runTests(pool: DeliveryContext['pool']): Promise<void> {
    const free = MAX_TESTS - this.tests.size;
    if (free <= 0) return;
    const waiting = await LIST_PENDING_TESTS.run(pool, { keptMs: TEST_TTL_MS, limit: MAX_TESTS });
    for (const test of waiting.filter(({ id }) => !this.tests.has(id)).slice(0, free)) {
      this.tests.add(test.id);
      const finished = runTest(this.context, test).catch((error: unknown) => {
        if (error instanceof LeaseLost) throw error;
        this.context.warn(`The test of webhook ${test.endpoint} failed: ${(error as Error).message}`);
      });
      const ended = finished.finally(() => {
        this.tests.delete(test.id);
        // The rows of a deleted endpoint may have been removed before this attempt was stored.
        if (!this.deliveries.has(test.endpoint)) this.ended.push(test.endpoint);
      });
      this.track(ended);
    }
  }

  /** Waits for `work` when the deliveries end. If `work` fails, the process has lost the lease. */
  private track(work: Promise<void>): void {
    const tracked = work.catch(this.context.onLeaseLost).finally(() => this.inFlight.delete(tracked));
    this.inFlight.add(tracked);
  }

  private wakeAll(): void {
    for (const { delivery } of this.deliveries.values()) delivery.wake();
  }
}

/** How long deliveries in flight may take to finish once the process has been asked to stop. */
const FINISH_TIMEOUT_MS = 4_000;

/** Delivers while this process holds the lease, until `stopSignal` aborts. */
const deliver = async (
  { config, url, log, ops, writeLog }: WorkerResources,
  stopSignal: AbortSignal,
): Promise<void> => {
  const keys = openMasterKeys(config);
  const { write: warn, recovered } = withoutRepeats((sentence) => writeLog(sentence, 'warn'));
  const onRecovery = (sentence: string): void => {
    recovered();
    writeLog(sentence);
  };
  const writeError = (line: string): void => writeLog(line, 'error');
  const pool = createPool(url, ({ message }) => warn(`A database connection was lost: ${message}`), { max: 6 });
  const [records, watchPool] = [createRecordsPool(url), createWatchPool(url)];
  const databaseClock = await new DatabaseClock(watchPool).begin();
  // Each endpoint waits once, and the number of endpoints is unlimited.
  const unlimited = new WaitingRequests(Number.POSITIVE_INFINITY);
  const egress = new Egress(new Destinations(new NetworkPolicy(config.webhookAllow)), config.webhookProxy);
  const shared = {
    pool,
    records,
    commands: new WebhookCommands(log, pool),
    keys,
    egress,
    clock: { now: () => databaseClock.now(), pause },
    warn,
    signing: reportFailures('sign webhook deliveries', ops.registry, undefined, writeError),
    proxy: reportFailures('send webhook deliveries', ops.registry, undefined, writeError),
    onPoll: () => ops.lanes.heartbeat(WEBHOOKS_LANE, true),
    watch: new FeedWatch(watchPool, new Readiness(), new Checkpoints(watchPool), unlimited, ops.registry),
    slots: new Slots(),
    deliveryLog: new DeliveryLog(config.accessLog),
  };
  try {
    ops.addStores(log, watchPool, 'webhooks');
    const logId = await unlessStopped(stopSignal, log.id());
    while (!stopSignal.aborted) {
      const lease = new Lease(pool, WEBHOOKS_LANE, { onError: warn, onRecovery });
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
      // The lease is held until the last request has ended, so that no other process sends the same records meanwhile.
      const ended = new AbortController();
      const held = lease.hold(abortAll, ended.signal).catch((error: unknown) => {
        abortAll();
        throw error;
      });
      try {
        await allEnded([held, new Deliveries(context).run().finally(() => ended.abort())]);
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

/** Runs the delivery process until it is told to stop. */
export const runDeliveryProcess = (): Promise<never> =>
  runWorker({
    context: 'deliveries',
    name: 'The delivery process',
    task: 'delivering',
    portSetting: 'DELIVERIES_OPS_PORT',
    work: deliver,
  });
