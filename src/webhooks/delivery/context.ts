import type { Pool } from 'pg';
import type { EventLog } from '../../event-log/event-log.js';
import type { FeedIds } from '../../records/feed/feed-id.js';
import type { FeedWatch } from '../../records/feed/feed-watch.js';
import type { WebhookCommands } from '../endpoints/webhook-commands.js';
import type { MasterKeys } from '../master-keys.js';
import type { DeliveryLog } from './delivery-log.js';
import type { ProgressWriter } from './progress-writer.js';
import type { Egress } from './requests/send.js';
import type { Slots } from './slots.js';

/** The time by the database's clock, and pauses between deliveries. Replaced in tests. */
export interface DeliveryClock {
  /** ms */
  now(): number;
  /** Resolves after this time, or as soon as `signal` aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** What the deliveries of a process share while it holds the lease. */
export interface DeliveryContext {
  /** For what is small, and written. */
  readonly pool: Pool;
  /** For the feed. */
  readonly records: Pool;
  readonly commands: WebhookCommands;
  readonly log: Pick<EventLog, 'eventAt'>;
  readonly logId: string;
  /** The end of the log now. */
  readonly head: () => Promise<bigint>;
  readonly ids: FeedIds;
  readonly watch: Pick<FeedWatch, 'wait'>;
  /** Undefined: this installation has none. */
  readonly keys: MasterKeys | undefined;
  readonly egress: Egress;
  readonly slots: Slots;
  readonly writer: ProgressWriter;
  readonly deliveryLog: DeliveryLog;
  readonly clock: DeliveryClock;
  /** Aborts when nothing more is to be begun. */
  readonly stop: AbortSignal;
  /** Aborts when what is in flight is to be given up. */
  readonly giveUp: AbortSignal;
  /** Says that another process has the lease. */
  readonly lose: () => void;
  readonly warn: (sentence: string) => void;
  /** Called at each look for what has changed. */
  readonly onTurn: () => void;
}
