import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { EventLog } from '../../src/event-log/event-log.js';
import { newEvent } from '../../src/event-log/new-event.js';
import { createPostgresLog } from '../../src/event-log/postgres/log.js';
import { webhooksStream } from '../../src/events/streams.js';
import type { Webhook, WebhookEvent } from '../../src/events/types/organizations.js';
import { pause } from '../../src/flow/time.js';
import { Readiness } from '../../src/ops/readiness.js';
import { createPool } from '../../src/postgres/pool.js';
import { Lease } from '../../src/read-models/lease.js';
import { migrateReadModels } from '../../src/read-models/prepare-tables.js';
import { createRecordsPool, createWatchPool } from '../../src/read-models/pools.js';
import { WEBHOOKS_LANE } from '../../src/webhooks/progress-sql.js';
import { FeedIds } from '../../src/records/feed/feed-ids.js';
import { WaitingRequests } from '../../src/flow/concurrency-limit.js';
import { Checkpoints } from '../../src/read-models/checkpoints.js';
import { FeedWatch } from '../../src/records/feed/feed-watch.js';
import { NetworkPolicy, Destinations } from '../../src/egress.js';
import { type DeliveryClock, Slots } from '../../src/webhooks/delivery/context.js';
import { Deliveries } from '../../src/webhooks/delivery/deliveries.js';
import { DeliveryLog, ProgressWriter } from '../../src/webhooks/delivery/progress.js';
import { Egress } from '../../src/webhooks/delivery/send.js';
import { WebhookCommands } from '../../src/webhooks/webhook-commands.js';
import { MasterKeys, secretText, signingKey } from '../../src/webhooks/secrets.js';
import { createDatabase, type TestDatabase, NO_LIMITS } from './postgres.js';
import { type Projecting, startProjecting } from './projecting.js';
import { sent, stored } from './upstream.js';

export const AT = '2026-03-01T12:00:00.000Z';
const LOOPBACK = ['127.0.0.0/8'];

/** A clock that advances only by pauses, which end immediately. */
export class FastClock implements DeliveryClock {
  private ms = Date.parse(AT);
  /** The pauses so far, ms. */
  readonly pauses: number[] = [];

  now(): number {
    return this.ms;
  }

  advance(ms: number): void {
    this.ms += ms;
  }

  async pause(ms: number, signal: AbortSignal): Promise<void> {
    // Shorter pauses wait for the database, not for an endpoint, so they are real.
    if (ms < 1_000) return pause(Math.min(ms, 20), signal);
    this.pauses.push(ms);
    this.ms += ms;
    await pause(1, signal);
  }
}

export const realClock: DeliveryClock = { now: () => Date.now(), pause };

interface RunningDeliveries {
  readonly stop: () => Promise<void>;
  /** Resolves once the deliveries have ended. */
  readonly ended: Promise<void>;
  /** How often the deliveries have polled for endpoints so far. */
  readonly polls: () => number;
  readonly warnings: readonly string[];
  /** The reports of deliveries that could not be signed. */
  readonly unsigned: readonly string[];
  /** The reports of deliveries that the operator's proxy kept from being sent. */
  readonly unsent: readonly string[];
}

/** An active webhook of acme that starts at the beginning of the feed. */
export const newWebhook = async (
  log: EventLog,
  keys: MasterKeys,
  overrides: Partial<Webhook> & Pick<Webhook, 'url'>,
): Promise<Webhook> => ({
  organization: 'acme',
  webhookId: `wh${randomBytes(8).toString('hex')}`,
  types: undefined,
  assetTypes: undefined,
  statuses: undefined,
  description: undefined,
  disabledReason: undefined,
  previousGeneration: undefined,
  previousMasterKey: undefined,
  previousUntil: undefined,
  idempotencyKeyHash: undefined,
  bodyHash: undefined,
  batch: 1,
  state: 'ACTIVE',
  generation: 1,
  masterKey: keys.newest().id,
  startAfter: -1,
  startLog: await log.id(),
  replay: 0,
  createdAt: Date.parse(AT),
  updatedAt: Date.parse(AT),
  ...overrides,
});

/** A log, its read models, and a delivery process that runs in the process of the spec. */
export class Rig {
  readonly folder = mkdtempSync(join(tmpdir(), 'deliveries-'));
  readonly keyFile = join(this.folder, 'master-keys');
  readonly keys: MasterKeys;
  private readonly endings: (() => Promise<unknown>)[] = [];

  private constructor(
    readonly database: TestDatabase,
    readonly log: EventLog,
    public projecting: Projecting,
  ) {
    writeFileSync(this.keyFile, `${randomBytes(32).toString('base64')}\n`);
    this.keys = new MasterKeys(this.keyFile);
  }

  /** @param existing a database with the tables of the read models; by default, a new database */
  static async start(existing?: TestDatabase): Promise<Rig> {
    const database = existing ?? (await createDatabase());
    const log = await createPostgresLog(createPool(database.url, () => {}, { ...NO_LIMITS, max: 4 }));
    return new Rig(database, log, startProjecting(log, database.pool));
  }

  async end(): Promise<void> {
    for (const ending of this.endings) await ending();
    await this.projecting.stop();
    await this.log.close();
    await this.database.drop();
    rmSync(this.folder, { recursive: true });
  }

  /** Stops the projector and drops the read models, as an operator would. `project` rebuilds them. */
  async dropReadModels(): Promise<void> {
    await this.projecting.stop();
    await this.database.pool.query('drop schema read cascade');
    await migrateReadModels(this.database.pool);
  }

  project(): void {
    this.projecting = startProjecting(this.log, this.database.pool);
  }

  /** Stores a threat with each of these ids, in order. */
  async block(ids: readonly string[], organization = 'acme', status = 'BLOCKED'): Promise<void> {
    const asset = { type: 'URL', content: 'phishing.example' };
    const events = ids.map((threatId) =>
      sent('ThreatStatusChanged', { organization, threatId, asset, status, createdAt: AT, updatedAt: AT }),
    );
    await this.log.appendAll(events.map(stored));
  }

  async endpoint(url: string, overrides: Partial<Webhook> = {}): Promise<Webhook> {
    const webhook = await newWebhook(this.log, this.keys, { url, ...overrides });
    await this.appendWebhookEvent('WebhookCreated', webhook);
    return webhook;
  }

  async appendWebhookEvent(type: WebhookEvent['type'], data: Webhook): Promise<void> {
    await this.log.append(webhooksStream(data.organization), 'any', [newEvent({ type, data })]);
    await this.projecting.reached();
  }

  /** The secret of a webhook as the API returned it. */
  secretOf({ webhookId }: Webhook, generation = 1): string {
    return secretText(signingKey(this.keys.newest(), { webhookId, generation }));
  }

  async askForTest({ organization, webhookId }: Webhook, now: number): Promise<string> {
    const id = randomUUID();
    await this.database.pool.query(
      'insert into service.webhook_tests (id, organization, endpoint, requested_at) values ($1, $2, $3, $4)',
      [id, organization, webhookId, now],
    );
    return id;
  }

  async rows<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.database.pool.query(text, [...values])).rows as Row[];
  }

  /** Acquires the lease and starts the deliveries. */
  async deliver({
    clock = realClock,
    destinations = new Destinations(new NetworkPolicy(LOOPBACK)),
    proxy,
  }: { clock?: DeliveryClock; destinations?: Destinations; proxy?: string } = {}): Promise<RunningDeliveries> {
    const { log, keys } = this;
    const { url } = this.database;
    const pools: Pool[] = [
      createPool(url, () => {}, { ...NO_LIMITS, max: 4 }),
      createRecordsPool(url),
      createWatchPool(url),
    ];
    const [pool, records, watchPool] = pools as [Pool, Pool, Pool];
    const lease = new Lease(pool, WEBHOOKS_LANE, { onError: () => {} });
    const [stop, giveUp] = [new AbortController(), new AbortController()];
    const warnings: string[] = [];
    const unsigned: string[] = [];
    const unsent: string[] = [];
    let polls = 0;
    const logId = await log.id();
    const writer = new ProgressWriter(pool, (await lease.acquire(stop.signal))!);
    const egress = new Egress(destinations, proxy);
    const running = new Deliveries({
      pool,
      records,
      commands: new WebhookCommands(log, pool),
      log,
      logId,
      head: () => log.head(),
      keys,
      egress,
      writer,
      clock,
      ids: new FeedIds(logId),
      watch: new FeedWatch(
        watchPool,
        new Readiness(),
        new Checkpoints(watchPool),
        new WaitingRequests(Number.POSITIVE_INFINITY),
      ),
      slots: new Slots(),
      deliveryLog: new DeliveryLog(false),
      stop: stop.signal,
      giveUp: giveUp.signal,
      onLeaseLost: () => stop.abort(),
      warn: (sentence) => warnings.push(sentence),
      signing: { failed: (error) => void unsigned.push((error as Error).message) },
      proxy: { failed: (error) => void unsent.push((error as Error).message) },
      onPoll: () => void (polls += 1),
    }).run();
    const held = lease.hold(() => stop.abort(), stop.signal);
    let isEnded = false;
    const end = async (): Promise<void> => {
      if (isEnded) return;
      isEnded = true;
      stop.abort();
      await Promise.all([running, held]);
      await lease.release();
      await egress.end();
      for (const each of pools) await each.end();
    };
    this.endings.push(end);
    return { stop: end, ended: running, polls: () => polls, warnings, unsigned, unsent };
  }
}
