import type { Pool } from 'pg';
import type { FailureReport } from '../../flow/background/failure-report.js';
import type { EventLog } from '../../event-log/event-log.js';
import type { FeedIds } from '../../records/feed/feed-id.js';
import type { FeedWatch } from '../../records/feed/feed-watch.js';
import type { WebhookCommands } from '../endpoints/webhook-commands.js';
import type { MasterKeys } from '../master-keys.js';
import type { DeliveryLog } from './delivery-log.js';
import type { ProgressWriter } from './progress-writer.js';
import type { Egress } from './requests/send.js';
import type { Slots } from './slots.js';

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
