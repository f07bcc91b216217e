import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Registry } from 'prom-client';
import { dayOf } from '../../events/instant.js';
import { DatabaseClock } from '../../postgres/clock.js';
import { reportFailures } from '../../flow/background/failure-report.js';
import { UpsertBuffer } from '../../read-models/upsert-buffer.js';
import { Expiry } from '../../read-models/expiry/expiry.js';
import { WatchPool } from '../../read-models/pools.js';
import { ADD_EVENT_USAGE, type EventUsage, OLD_EVENT_USAGE, type Outcome } from './statements.js';

/** Counts the outcomes of events for their senders. The table is up to a second behind. */
@Injectable()
export class UsageLog implements BeforeApplicationShutdown {
  private readonly rows: UpsertBuffer<EventUsage>;

  constructor(
    private readonly pool: WatchPool,
    registry: Registry = new Registry(),
    private readonly clock: DatabaseClock = new DatabaseClock(),
    expiry?: Expiry,
  ) {
    expiry?.register(OLD_EVENT_USAGE);
    this.rows = new UpsertBuffer<EventUsage>({
      keyOf: ({ owner, day, type, outcome }) => `${owner} ${day} ${type} ${outcome}`,
      merge: (known, more) => ({ ...known, events: known.events + more.events }),
      write: (rows) => ADD_EVENT_USAGE.runEach(this.pool, rows),
      maxRows: 20_000,
      flushIntervalMs: 1_000,
      report: reportFailures('write usage', registry),
    });
  }

  /**
   * @param owner the key's organization, or the key itself
   * @param type an upstream type, or `other`
   */
  add(owner: string, outcome: Outcome, type: string, events: number): void {
    this.rows.add({ owner, day: dayOf(this.clock.now()), type, outcome, events });
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.rows.stop();
  }
}
