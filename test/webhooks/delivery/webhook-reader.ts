import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventLog } from '../../../src/event-log/event-log.js';
import { newEvent } from '../../../src/event-log/new-event.js';
import { webhooksStream } from '../../../src/events/streams.js';
import { Destinations, NetworkPolicy } from '../../../src/egress.js';
import { Lease } from '../../../src/read-models/lease.js';
import { FeedIds } from '../../../src/records/feed/feed-elements.js';
import { WEBHOOKS_LANE } from '../../../src/webhooks/progress-sql.js';
import { DeliveryLog, ProgressWriter } from '../../../src/webhooks/delivery/progress.js';
import { EndpointDelivery } from '../../../src/webhooks/delivery/endpoint-delivery.js';
import { Egress } from '../../../src/webhooks/delivery/send.js';
import { Slots } from '../../../src/webhooks/delivery/context.js';
import { WebhookCommands } from '../../../src/webhooks/webhook-commands.js';
import { MasterKeys } from '../../../src/webhooks/secrets.js';
import type { TestDatabase } from '../../support/postgres.js';
import { Receiver } from './receiver.js';
import { newWebhook, realClock } from './rig.js';

interface Delivered {
  readonly bodies: readonly string[];
  readonly warnings: readonly string[];
}

/** Webhooks whose deliveries run only on request, until they wait for changes. Each run is that of a new process. */
export class WebhookReader {
  private readonly folder = mkdtempSync(join(tmpdir(), 'webhooks-'));
  private readonly keys: MasterKeys;
  private readonly egress = new Egress(new Destinations(new NetworkPolicy(['127.0.0.0/8'])));
  private readonly receiver = new Receiver();

  private constructor(
    private readonly database: TestDatabase,
    private readonly log: EventLog,
  ) {
    const file = join(this.folder, 'master-keys');
    writeFileSync(file, `${randomBytes(32).toString('base64')}\n`);
    this.keys = new MasterKeys(file);
  }

  static async start(database: TestDatabase, log: EventLog): Promise<WebhookReader> {
    const reader = new WebhookReader(database, log);
    await reader.receiver.start();
    return reader;
  }

  async end(): Promise<void> {
    await this.egress.end();
    await this.receiver.stop();
    rmSync(this.folder, { recursive: true });
  }

  /** Creates a webhook with batches of 20 that starts at the beginning of the feed. @returns its id */
  async create(organization: string): Promise<string> {
    const url = `http://127.0.0.1:${this.receiver.port}/`;
    const webhook = await newWebhook(this.log, this.keys, { organization, url, batch: 20 });
    const event = newEvent({ type: 'WebhookCreated', data: webhook });
    await this.log.append(webhooksStream(organization), 'any', [event]);
    return webhook.webhookId;
  }

  /** Writes the progress of a webhook whose last record was redacted as version 2.1 wrote it. */
  async writeProgressAsVersion21(webhookId: string): Promise<void> {
    await this.database.pool.query(
      `update service.webhook_progress p
       set progress = progress || jsonb_build_object('event', left(r.event_id::text, 8))
       from read.listed_records r
       where p.endpoint = $1 and r.position = (p.progress ->> 'position')::bigint and r.moved_to = r.position
         and r.kind <> 5`,
      [webhookId],
    );
  }

  /**
   * Delivers until the deliveries wait for changes.
   * @throws Error after more requests than `maxRequests`
   */
  async deliver(organization: string, webhookId: string, maxRequests: number): Promise<Delivered> {
    const { pool } = this.database;
    const { log, keys, egress, receiver } = this;
    const [stop, giveUp] = [new AbortController(), new AbortController()];
    const lease = new Lease(pool, WEBHOOKS_LANE, { onError: () => {} });
    const logId = await log.id();
    const warnings: string[] = [];
    receiver.received.length = 0;
    const { react } = receiver;
    receiver.react = (...received) => {
      if (receiver.received.length > maxRequests) stop.abort();
      react(...received);
    };
    const context = {
      pool,
      records: pool,
      commands: new WebhookCommands(log, pool),
      log,
      logId,
      head: () => log.head(),
      keys,
      egress,
      writer: new ProgressWriter(pool, (await lease.acquire(stop.signal))!),
      clock: realClock,
      ids: new FeedIds(logId),
      watch: {
        wait: async () => {
          stop.abort();
          return { hasNews: false, asOf: 0, position: 0 };
        },
      },
      slots: new Slots(),
      deliveryLog: new DeliveryLog(false),
      stop: stop.signal,
      giveUp: giveUp.signal,
      onLeaseLost: () => stop.abort(),
      warn: (sentence: string) => void warnings.push(sentence),
      signing: { failed: (error: unknown) => void warnings.push(String(error)) },
      onPoll: () => {},
    };
    await new EndpointDelivery(context, organization, webhookId).run();
    await lease.release();
    receiver.react = react;
    const bodies = receiver.received.map(({ body }) => body);
    if (bodies.length > maxRequests) throw new Error(`More than ${maxRequests} requests; ${warnings.join(' ')}`);
    return { bodies, warnings };
  }
}
