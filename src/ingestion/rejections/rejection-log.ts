import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { DelayedFlush } from '../../flow/delayed-flush.js';
import { dayOf } from '../../events/instant.js';
import { WatchPool } from '../../read-models/pools.js';
import { addRejectedEvents, type RejectedEvents } from '../../read-models/rejected-events.js';
import type { Refusal } from './refusals.js';
import { sampleOf } from './sample.js';

const FLUSH_EVERY_MS = 1_000;
const LINE_EVERY_MS = 1_000;
/** Rows in memory, each at most some 6 KiB; while full, further keys, reasons and types are dropped. */
const MAX_WAITING = 1_000;

/**
 * Keeps rejected events for the operator and their senders: a count and one sample per day, key, reason and type. Collected in memory and
 * flushed to a table once a second, so that no request waits for it; a kill -9 loses a second.
 */
@Injectable()
export class RejectionLog implements BeforeApplicationShutdown {
  private readonly logger = new Logger('ingestion');
  private waiting = new Map<string, RejectedEvents>();
  private readonly flushes = new DelayedFlush(FLUSH_EVERY_MS, () => this.flush());
  private nextLineAt = 0;
  private unsaid = 0;

  constructor(private readonly pool: WatchPool) {}

  /** @param owner the key's organization, or the key itself */
  add(owner: string, keyId: string, refusals: readonly Refusal[]): void {
    const now = Date.now();
    let sum = 0;
    for (const refusal of refusals) {
      sum += refusal.count;
      this.merge({
        owner,
        day: dayOf(now),
        keyId,
        reason: refusal.reason,
        type: refusal.type,
        count: refusal.count,
        lastAt: now,
        // Computed only for a new row.
        get sample() {
          return sampleOf(refusal);
        },
      });
    }
    if (sum === 0) return;
    this.say(keyId, refusals[0]!, sum);
    this.flushes.schedule();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flushes.stop();
  }

  private merge(row: RejectedEvents): void {
    const key = `${row.day} ${row.keyId} ${row.reason} ${row.type}`;
    const known = this.waiting.get(key);
    if (known !== undefined)
      this.waiting.set(key, { ...known, count: known.count + row.count, lastAt: Math.max(known.lastAt, row.lastAt) });
    else if (this.waiting.size < MAX_WAITING) this.waiting.set(key, { ...row });
  }

  private say(keyId: string, { reason, type }: Refusal, sum: number): void {
    const now = performance.now();
    this.unsaid += sum;
    if (now < this.nextLineAt) return;
    this.logger.warn(
      `${this.unsaid} events rejected, most recently from ${keyId}: ${reason} (type ${type}); "rejected list" shows them`,
    );
    this.nextLineAt = now + LINE_EVERY_MS;
    this.unsaid = 0;
  }

  private async flush(): Promise<void> {
    const { waiting } = this;
    if (waiting.size === 0) return;
    this.waiting = new Map();
    try {
      await addRejectedEvents(this.pool, [...waiting.values()]);
    } catch (error) {
      // If only the answer was lost, they count twice.
      const since = this.waiting;
      this.waiting = waiting;
      for (const row of since.values()) this.merge(row);
      throw error;
    }
  }
}
