import type { Pool } from 'pg';
import { Semaphore } from '../../flow/concurrency-limit.js';
import type { FailureReport } from '../../flow/background.js';
import type { EventLog } from '../../event-log/event-log.js';
import type { FeedIds } from '../../records/feed/feed-ids.js';
import type { FeedWatch } from '../../records/feed/feed-watch.js';
import type { WebhookCommands } from '../webhook-commands.js';
import type { MasterKeys } from '../secrets.js';
import type { DeliveryLog, ProgressWriter } from './progress.js';
import type { Egress } from './send.js';
import { limit } from '../../limits.js';

/** Maximum number of requests in flight. */
const MAX_IN_FLIGHT = limit('delivery requests in flight, in all', 64, 'requests', 'process', 'waits');
const MAX_PER_ORGANIZATION = limit('delivery requests in flight', 8, 'requests', 'organization', 'waits');
/**
 * Maximum number of concurrent reads of the feed of an organization, which replays with a strict filter repeat without
 * a pause.
 */
const MAX_READS_PER_ORGANIZATION = limit('feed, read by deliveries', 1, 'reads', 'organization', 'waits');
/** Maximum number of requests in flight to endpoints that are not known to respond quickly. */
const MAX_UNRESPONSIVE = limit('delivery requests to slow endpoints', 32, 'requests', 'process', 'waits');

/**
 * Limits the requests in flight. A request first waits for a slot of its organization, so that an organization with many
 * endpoints cannot fill the shared queue. Endpoints that are not known to respond quickly get at most half of all slots.
 */
export class Slots {
  private readonly all = new Semaphore(MAX_IN_FLIGHT);
  private readonly unresponsive = new Semaphore(MAX_UNRESPONSIVE);
  /** Only organizations with requests in flight or waiting. */
  private readonly ofOrganization = new Map<
    string,
    { readonly own: Semaphore; readonly reads: Semaphore; users: number }
  >();

  /** @param isResponsive whether the last delivery to the endpoint succeeded quickly */
  async run<Result>(organization: string, isResponsive: boolean, job: () => Promise<Result>): Promise<Result> {
    let slots = this.ofOrganization.get(organization);
    if (!slots) {
      const [own, reads] = [new Semaphore(MAX_PER_ORGANIZATION), new Semaphore(MAX_READS_PER_ORGANIZATION)];
      this.ofOrganization.set(organization, (slots = { own, reads, users: 0 }));
    }
    slots.users += 1;
    const semaphores = isResponsive ? [slots.own, this.all] : [slots.own, this.unresponsive, this.all];
    for (const semaphore of semaphores) await semaphore.acquire();
    try {
      return await job();
    } finally {
      for (const semaphore of semaphores) semaphore.release();
      slots.users -= 1;
      if (slots.users === 0) this.ofOrganization.delete(organization);
    }
  }

  /** Reads the feed of an organization. Must be called by a job of `run`. */
  async read<Result>(organization: string, job: () => Promise<Result>): Promise<Result> {
    const { reads } = this.ofOrganization.get(organization)!;
    await reads.acquire();
    try {
      return await job();
    } finally {
      reads.release();
    }
  }
}

/** The time by the clock of the database, and pauses between deliveries. Tests pass their own clock. */
export interface DeliveryClock {
  /** ms */
  now(): number;
  /** Resolves after `ms` milliseconds, or as soon as `signal` aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** What the deliveries read. */
interface FeedContext {
  /** Connections for reading the feed. */
  readonly records: Pool;
  readonly log: Pick<EventLog, 'has'>;
  readonly logId: string;
  /** Reads the position of the last event in the log. */
  readonly head: () => Promise<bigint>;
  readonly ids: FeedIds;
  readonly watch: Pick<FeedWatch, 'wait'>;
}

/** What sends requests. */
export interface SendingContext {
  /** Undefined if this installation has no master keys. */
  readonly keys: MasterKeys | undefined;
  readonly egress: Egress;
  readonly clock: DeliveryClock;
  /** Aborts when the requests in flight must be cancelled. */
  readonly giveUp: AbortSignal;
  /** Reports deliveries that cannot be signed, because the master key of their secret is unavailable. */
  readonly signing: Pick<FailureReport, 'failed'>;
  /** Reports deliveries that cannot be sent, because the operator's proxy fails. */
  readonly proxy: Pick<FailureReport, 'failed'>;
}

/** What stores the outcomes of requests. */
interface OutcomeContext {
  /** Connections for short statements and for writing. */
  readonly pool: Pool;
  readonly commands: WebhookCommands;
  readonly writer: ProgressWriter;
  readonly deliveryLog: DeliveryLog;
}

/** The dependencies that all deliveries of a process share while the process holds the lease. */
export interface DeliveryContext extends FeedContext, SendingContext, OutcomeContext {
  readonly slots: Slots;
  /** Aborts when no further request may start. */
  readonly stop: AbortSignal;
  /** Called when another process has taken the lease. */
  readonly onLeaseLost: () => void;
  readonly warn: (message: string) => void;
  /** Called each time the deliveries poll for changed endpoints. */
  readonly onPoll: () => void;
}
