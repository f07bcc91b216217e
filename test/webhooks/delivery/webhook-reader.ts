import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventLog } from '../../../src/event-log/event-log.js';
import { newEvent } from '../../../src/event-log/new-event.js';
import { webhooksStream } from '../../../src/events/streams.js';
import { Destinations, NetworkPolicy } from '../../../src/egress.js';
import { Lease } from '../../../src/read-models/lease.js';
import { FeedIds } from '../../../src/records/feed/feed-ids.js';
import { WEBHOOKS_LANE } from '../../../src/webhooks/progress-sql.js';
import { DeliveryLog, ProgressWriter } from '../../../src/webhooks/delivery/progress.js';
import { EndpointDelivery } from '../../../src/webhooks/delivery/endpoint-delivery.js';
import { Egress } from '../../../src/webhooks/delivery/send.js';
import { Slots } from '../../../src/webhooks/delivery/context.js';
import { WebhookCommands } from '../../../src/webhooks/webhook-commands.js';
import { MasterKeys } from '../../../src/webhooks/secrets.js';
import type { TestDatabase } from '../../support/postgres.js';
import { Receiver } from '../../support/receiver.js';
import { newWebhook, realClock } from '../../support/delivery-rig.js';

/** Deliveries to run. */
interface Asked {
  readonly organization: string;
  readonly webhookId: string;
  readonly maxRequests: number;
}

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
  private readonly onRequest = new Map<string, (body: string) => void>();

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
    const { receiver, onRequest } = reader;
    const { react } = receiver;
    receiver.react = (request, ...rest) => {
      onRequest.get(request.path)?.(request.body);
      receiver.received.length = 0;
      react(request, ...rest);
    };
    await receiver.start();
    return reader;
  }

  async end(): Promise<void> {
    await this.egress.end();
    await this.receiver.stop();
    rmSync(this.folder, { recursive: true });
  }

  /** Creates a webhook for each organization, with batches of 20, at the beginning of the feed. @returns their ids */
  async create(organizations: readonly string[]): Promise<string[]> {
    const webhooks = await Promise.all(
      organizations.map((organization) =>
        newWebhook(this.log, this.keys, {
          organization,
          url: `http://127.0.0.1:${this.receiver.port}/${organization}`,
          batch: 20,
        }),
      ),
    );
    await this.log.appendAll(
      webhooks.map((data) => ({
        stream: webhooksStream(data.organization),
        event: newEvent({ type: 'WebhookCreated', data }),
      })),
    );
    return webhooks.map(({ webhookId }) => webhookId);
  }

  /** Writes the progress of a webhook whose last record was redacted as version 2.1 wrote it. */
  async writeProgressAsVersion21(webhookId: string): Promise<void> {
    await this.database.pool.query(
      `update service.webhook_progress p
       set progress = progress || jsonb_build_object('event', left(r.event_id::text, 8))
       from read.register r
       where p.endpoint = $1 and r.position = (p.progress ->> 'position')::bigint and r.moved_by is not null
         and r.kind <> 5`,
      [webhookId],
    );
  }

  /**
   * Delivers to webhooks of different organizations, each until its deliveries wait for changes.
   * @returns what each webhook got, in the order of `asked`
   * @throws Error if one gets more than `maxRequests` requests
   */
  async deliver(asked: readonly Asked[]): Promise<Delivered[]> {
    const stop = new AbortController();
    const lease = new Lease(this.database.pool, WEBHOOKS_LANE, { onError: () => {} });
    const writer = new ProgressWriter(this.database.pool, (await lease.acquire(stop.signal))!);
    const logId = await this.log.id();
    const slots = new Slots();
    try {
      return await Promise.all(asked.map((one) => this.deliverTo(one, writer, logId, slots)));
    } finally {
      await lease.release();
    }
  }

  private async deliverTo(
    { organization, webhookId, maxRequests }: Asked,
    writer: ProgressWriter,
    logId: string,
    slots: Slots,
  ): Promise<Delivered> {
    const { pool } = this.database;
    const { log, keys, egress } = this;
    const [stop, giveUp] = [new AbortController(), new AbortController()];
    const warnings: string[] = [];
    const bodies: string[] = [];
    this.onRequest.set(`/${organization}`, (body) => {
      bodies.push(body);
      if (bodies.length > maxRequests) stop.abort();
    });
    const context = {
      pool,
      records: pool,
      commands: new WebhookCommands(log, pool),
      log,
      logId,
      head: () => log.head(),
      keys,
      egress,
      writer,
      clock: realClock,
      ids: new FeedIds(logId),
      watch: {
        wait: async () => {
          stop.abort();
          return { hasNews: false, asOf: 0, position: 0 };
        },
      },
      slots,
      deliveryLog: new DeliveryLog(false),
      stop: stop.signal,
      giveUp: giveUp.signal,
      onLeaseLost: () => stop.abort(),
      warn: (sentence: string) => void warnings.push(sentence),
      signing: { failed: (error: unknown) => void warnings.push(String(error)) },
      proxy: { failed: (error: unknown) => void warnings.push(String(error)) },
      onPoll: () => {},
    };
    await new EndpointDelivery(context, organization, webhookId).run();
    if (bodies.length > maxRequests) throw new Error(`More than ${maxRequests} requests; ${warnings.join(' ')}`);
    return { bodies, warnings };
  }
}
