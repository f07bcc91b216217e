import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { WatchPool } from '../read-models/pools.js';
import { noteKeyUses } from '../read-models/key-uses.js';

const FLUSH_EVERY_MS = 60_000;
const MINUTE_MS = 60_000;
/** Keys noted at once; the uses of others wait for the next minute. */
const MAX_KEYS = 10_000;

/** When keys are used: in memory, and added to a table once a minute and at the stop, so no request waits for it. */
@Injectable()
export class KeyUses implements BeforeApplicationShutdown {
  private used = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly pool: WatchPool) {}

  add(keyId: string): void {
    if (this.used.size >= MAX_KEYS && !this.used.has(keyId)) return;
    this.used.set(keyId, Date.now());
    this.timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref();
  }

  /** Never fails: where the database is away the uses wait for the next minute. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { used } = this;
    if (used.size === 0) return;
    this.used = new Map();
    try {
      await noteKeyUses(this.pool, new Map([...used].map(([id, at]) => [id, at - (at % MINUTE_MS)])));
    } catch {
      for (const [id, at] of used) if (!this.used.has(id) && this.used.size < MAX_KEYS) this.used.set(id, at);
      this.timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref();
    }
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flush();
    clearTimeout(this.timer);
  }
}
