import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { dayOf } from '../../events/instant.js';
import { DelayedFlush } from '../../flow/delayed-flush.js';
import { addEventUsage, type EventUsage, forgetEventUsage, type Outcome } from '../../read-models/event-usage.js';
import { WatchPool } from '../../read-models/pools.js';

const FLUSH_EVERY_MS = 1_000;
/** Counts in memory while the database is away; while full, further owners, types and outcomes are not counted. */
const MAX_WAITING = 20_000;

/**
 * Counts what became of sent events, for those who sent them. Collected in memory and flushed to a table once a second,
 * so that no request waits for it; a kill -9 loses a second.
 */
@Injectable()
export class UsageLog implements BeforeApplicationShutdown {
  private day = 0;
  private waiting = new Map<string, EventUsage>();
  private readonly flushes = new DelayedFlush(FLUSH_EVERY_MS, () => this.flush());

  constructor(private readonly pool: WatchPool) {}

  /**
   * @param owner the key's organization, or the key itself
   * @param type an upstream type, or `other`
   */
  add(owner: string, outcome: Outcome, type: string, events: number): void {
    this.merge({ owner, day: dayOf(Date.now()), type, outcome, events });
    this.flushes.schedule();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flushes.stop();
  }

  private merge(row: EventUsage): void {
    const key = `${row.owner} ${row.day} ${row.type} ${row.outcome}`;
    const known = this.waiting.get(key);
    if (known !== undefined) this.waiting.set(key, { ...known, events: known.events + row.events });
    else if (this.waiting.size < MAX_WAITING) this.waiting.set(key, row);
  }

  private async flush(): Promise<void> {
    const { waiting } = this;
    if (waiting.size === 0) return;
    const today = dayOf(Date.now());
    this.waiting = new Map();
    try {
      await addEventUsage(this.pool, [...waiting.values()]);
    } catch (error) {
      // If only the answer was lost, they count twice.
      const since = this.waiting;
      this.waiting = waiting;
      for (const row of since.values()) this.merge(row);
      throw error;
    }
    if (today === this.day) return;
    await forgetEventUsage(this.pool, today);
    this.day = today;
  }
}
