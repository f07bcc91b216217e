import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { DelayedFlush } from '../flow/delayed-flush.js';
import { WatchPool } from '../read-models/pools.js';
import { noteKeyUses } from '../read-models/key-uses.js';

const FLUSH_EVERY_MS = 60_000;
const MINUTE_MS = 60_000;
/** Keys per flush; further ones are recorded in the next minute. */
const MAX_KEYS = 10_000;

/**
 * Records when keys are used: in memory, flushed to a table once a minute and at shutdown, so that no request waits for
 * it.
 */
@Injectable()
export class KeyUses implements BeforeApplicationShutdown {
  private used = new Map<string, number>();
  private readonly flushes = new DelayedFlush(FLUSH_EVERY_MS, () => this.write());

  constructor(private readonly pool: WatchPool) {}

  add(keyId: string): void {
    if (this.used.size >= MAX_KEYS && !this.used.has(keyId)) return;
    this.used.set(keyId, Date.now());
    this.flushes.schedule();
  }

  /** Never fails: while the database is unavailable, uses are kept for the next minute. */
  flush(): Promise<void> {
    return this.flushes.now();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flushes.stop();
  }

  private async write(): Promise<void> {
    const { used } = this;
    if (used.size === 0) return;
    this.used = new Map();
    try {
      await noteKeyUses(this.pool, new Map([...used].map(([id, at]) => [id, at - (at % MINUTE_MS)])));
    } catch (error) {
      for (const [id, at] of used) if (!this.used.has(id) && this.used.size < MAX_KEYS) this.used.set(id, at);
      throw error;
    }
  }
}
